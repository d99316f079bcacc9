// What the model says: the label, and how sure it is.

import { el, fixed } from "./dom.js";

const SHOWN = 4;

function bars(pairs, best) {
  return el("ul", { class: "bars" }, pairs.map(([name, p]) => {
    const fill = el("span", { class: "fill" });
    fill.style.width = `${100 * p}%`;
    return el("li", { class: name === best ? "best" : "" },
      el("span", { class: "bar-name" }, el("bdi", null, name)),
      el("span", { class: "meter", "aria-hidden": "true" }, fill),
      el("span", { class: "bar-value" }, fixed(p)));
  }));
}

/** A headline of one prediction; many labels are folded after the first few. */
export function predictionView({ label, probabilities, model = "", word = "says" }) {
  const pairs = (Array.isArray(probabilities) ? probabilities : Object.entries(probabilities)).filter(([, p]) => Number.isFinite(p));
  const order = pairs.length > SHOWN ? [...pairs].sort((a, b) => b[1] - a[1]) : pairs;
  const sure = pairs.find(([name]) => name === label)?.[1];
  const rest = order.slice(SHOWN);
  return el("div", { class: "said" },
    el("p", { class: "headline" }, model ? el("span", { class: "who" }, el("bdi", null, model), ` ${word} `) : null,
      el("strong", null, label), sure === undefined ? null : el("span", { class: "sure" }, ` ${fixed(sure)}`)),
    el("div", { class: "spread" }, bars(order.slice(0, SHOWN), label),
      rest.length ? el("details", { class: "more" }, el("summary", null, `${rest.length} more labels`), bars(rest, label)) : null));
}

/** Label and probabilities of an explanation's header; pairs, because a label may be any string. */
export function byLabel(header) {
  const best = header.probabilities.indexOf(Math.max(...header.probabilities));
  return {
    label: header.labels[best] ?? header.target,
    probabilities: header.labels.map((name, i) => [name, header.probabilities[i]]),
  };
}
