// Small helpers. Text only ever enters the page as text nodes: nothing here parses HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Control characters as pictures, as the reports show them. */
export function visible(text) {
  return String(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, (c) => {
    const code = c.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "\u2421" : "\ufffd";
  });
}

function fill(node, props, children) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [name, handler] of Object.entries(value)) node.addEventListener(name, handler);
    else if (key === "data") Object.assign(node.dataset, value);
    else if (key === "class") node.setAttribute("class", value);
    else if (key in node && !(node instanceof SVGElement) && !key.includes("-") && key !== "list") node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    node.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
}

/** An element with properties, handlers (`on`), data attributes (`data`) and children; strings become text nodes. */
export function el(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

export const byId = (id) => document.getElementById(id);

/** Put other children in a node. */
export function replace(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

/** A score with its sign; three digits unless it is tiny or huge. */
export function signed(score) {
  if (!Number.isFinite(score)) return "no number";
  const size = Math.abs(score);
  const digits = size === 0 || (size >= 0.001 && size < 1000) ? size.toFixed(3) : size.toExponential(2);
  return `${score < 0 ? "−" : "+"}${digits}`;
}

/** A probability or a metric for people. */
export function fixed(value, digits = 2) {
  if (!Number.isFinite(value)) return "–";
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

export function plural(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Calls that come faster than `wait` ms are one call: the last. */
export function debounce(wait, action) {
  let timer = 0;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** Let only the answer to the newest question through: older ones are aborted. */
export function latest() {
  let current = null;
  return {
    async ask(question) {
      current?.abort();
      const mine = (current = new AbortController());
      try {
        const answer = await question(mine.signal);
        return mine === current ? answer : undefined;
      } catch (error) {
        if (error?.name === "AbortError" || mine !== current) return undefined;
        throw error;
      }
    },
    stop() {
      current?.abort();
      current = null;
    },
  };
}

/** Keep a blob under a file name. */
export function download(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = el("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

let toastTimer = 0;

/** Say something in a live region; errors interrupt and stay until dismissed. */
export function say(message, kind = "note") {
  const alert = byId("alert");
  const status = byId("status");
  clearTimeout(toastTimer);
  if (kind === "error") {
    replace(byId("alert-text"), message);
    alert.hidden = false;
    return;
  }
  replace(status, message);
  status.classList.add("shown");
  toastTimer = setTimeout(() => status.classList.remove("shown"), 3500);
}

export function hush() {
  byId("alert").hidden = true;
  replace(byId("alert-text"));
}
