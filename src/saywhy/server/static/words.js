// A text with its words coloured by score. Words can be walked with the arrow keys and taken away.

import { byId, el, signed, visible } from "./dom.js";

export const LEVELS = 9;

const finite = (score) => (Number.isFinite(score) ? score : 0);

export function peak(scores) {
  return scores.reduce((most, score) => Math.max(most, Math.abs(finite(score))), 0);
}

/** From -9 (against) to 9 (for); 0 below a twentieth of the largest score, as in the reports. */
export function levelOf(score, top) {
  const share = top > 0 ? finite(score) / top : 0;
  if (Math.abs(share) < 0.05) return 0;
  return Math.sign(share) * Math.max(1, Math.round(Math.abs(share) * LEVELS));
}

export function levelClass(level) {
  return level === 0 ? "" : `${level > 0 ? "f" : "a"}${Math.abs(level)}`;
}

/** What the texts and choices are called: nothing for one text. */
export function fieldNames(texts, choices, task = "") {
  if (choices.length) return [...texts.map(() => "question"), ...choices.map((_, i) => `choice ${i + 1}`)];
  if (texts.length === 2) return task === "span-qa" ? ["question", "context"] : ["premise", "hypothesis"];
  return texts.map(() => "");
}

/** Words in the order of a text with the gaps between them; offsets count characters, not UTF-16 units. */
export function segments(text, field, words) {
  const chars = Array.from(text);
  const found = [];
  let cursor = 0;
  const order = words.map((word, at) => ({ word, at })).filter(({ word }) => (word.field ?? 0) === field);
  order.sort((a, b) => a.word.start - b.word.start);
  for (const { word, at } of order) {
    const start = Math.max(word.start, cursor);
    const end = Math.min(word.end, chars.length);
    if (start >= end) continue;
    if (cursor < start) found.push({ text: chars.slice(cursor, start).join(""), at: null });
    found.push({ text: chars.slice(start, end).join(""), at });
    cursor = end;
  }
  if (cursor < chars.length) found.push({ text: chars.slice(cursor).join(""), at: null });
  return found;
}

/**
 * The fields of an input with coloured words.
 *
 * `levels[i]` and `said[i]` are colour and spoken score of word i; `onRemove(i)` is called when a word is clicked.
 * Returns the node and `show(removed)`, which strikes words through.
 */
export function wordsView({ fields, names, words, levels, said, selected, label, onRemove }) {
  const nodes = new Map();
  const node = el("div", { class: "texts", role: "group", "aria-label": label });
  fields.forEach((text, field) => {
    const line = el("p", { class: "text", dir: "auto" });
    let joined = false;
    const parts = segments(text, field, words);
    parts.forEach((part, place) => {
      if (part.at === null) {
        const between = selected && joined && selected[parts[place + 1]?.at] && !part.text.trim();
        line.append(between ? el("span", { class: "gap" }, part.text) : visible(part.text));
        return;
      }
      const at = part.at;
      joined = Boolean(selected?.[at]);
      const level = levelClass(levels[at] ?? 0);
      const word = el("span", {
        class: `w ${level} ${Math.abs(levels[at] ?? 0) >= 6 ? "st" : ""} ${joined ? "sel" : ""}`.trim(),
        data: { word: at, tip: said[at] ?? "" },
        role: onRemove ? "button" : null,
        tabindex: onRemove ? "-1" : null,
        "aria-pressed": onRemove ? "false" : null,
        "aria-label": onRemove ? `${visible(part.text)}${said[at] ? `, ${said[at]}` : ""}` : null,
      }, part.text);
      nodes.set(at, word);
      line.append(word);
    });
    node.append(names[field]
      ? el("div", { class: "named" }, el("span", { class: "name" }, names[field]), line)
      : line);
  });
  walk(node, nodes, onRemove);
  return {
    node,
    show(removed) {
      for (const [at, word] of nodes) {
        const gone = removed.has(at);
        word.classList.toggle("gone", gone);
        if (onRemove) word.setAttribute("aria-pressed", String(gone));
      }
    },
  };
}

/** One tab stop a text; arrows walk its words, Enter, Space or Delete take one away or bring it back. */
function walk(node, nodes, onRemove) {
  const order = [...nodes.values()];
  const tell = (event) => {
    const word = event.target.closest?.("[data-tip]");
    if (word) showTip(word);
  };
  node.addEventListener("pointerover", tell);
  node.addEventListener("focusin", tell);
  node.addEventListener("pointerout", hideTip);
  node.addEventListener("focusout", hideTip);
  if (!onRemove || !order.length) return;
  order[0].tabIndex = 0;
  const focus = (word) => {
    for (const other of node.querySelectorAll(".w[tabindex='0']")) other.tabIndex = -1;
    word.tabIndex = 0;
    word.focus({ preventScroll: false });
  };
  node.addEventListener("click", (event) => {
    const word = event.target.closest(".w");
    if (!word || String(window.getSelection?.() ?? "").trim()) return;
    for (const other of node.querySelectorAll(".w[tabindex='0']")) other.tabIndex = -1;
    word.tabIndex = 0;
    onRemove(Number(word.dataset.word));
  });
  node.addEventListener("keydown", (event) => {
    const place = order.indexOf(event.target);
    if (place < 0) return;
    const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: order.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      focus(order[Math.max(0, Math.min(order.length - 1, to))]);
    } else if (["Enter", " ", "Delete", "Backspace"].includes(event.key) && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      onRemove(Number(event.target.dataset.word));
    }
  });
}

export function showTip(target) {
  const tip = byId("tip");
  if (!target.dataset.tip) return;
  tip.textContent = visible(target.dataset.tip);
  tip.hidden = false;
  const box = (target.getClientRects()[0] ?? target.getBoundingClientRect());
  const size = tip.getBoundingClientRect();
  const left = Math.min(Math.max(6, box.left + box.width / 2 - size.width / 2), document.documentElement.clientWidth - size.width - 6);
  const above = box.top - size.height - 6;
  tip.style.left = `${left}px`;
  tip.style.top = `${above < 4 ? box.bottom + 6 : above}px`;
}

export function hideTip() {
  byId("tip").hidden = true;
}

/** How a score reads aloud. */
export function spoken(score, target) {
  if (!Number.isFinite(score)) return "no score";
  if (score === 0) return "+0.000";
  return `${signed(score)} ${score > 0 ? "for" : "against"} ${target}`;
}
