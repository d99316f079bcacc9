// A reason in the model's own words, and how its label grew as the sentence was said.

import { el, fixed, svg } from "./dom.js";

const HUES = 8;
const LEFT = 30;
const RIGHT = 30;
const TOP = 10;
const HEIGHT = 150;
const FLOOR = 118;

/** Names of the steps: the sentence's words, with a start and an end where there are more steps than words. */
export function stepNames(sentence, steps) {
  const words = sentence.split(/\s+/).filter(Boolean);
  const names = { 0: words, 1: [...words, "end"], 2: ["start", ...words, "end"] }[steps.length - words.length];
  return names ?? steps.map((_, i) => String(i + 1));
}

export function sentenceView(explanation, told) {
  const { sentence, steps = [] } = explanation;
  return el("div", { class: "free" },
    el("blockquote", { class: "quote", dir: "auto" }, sentence || "(no words)"),
    steps.length ? chart(explanation, stepNames(sentence, steps)) : null,
    told?.settles ? el("p", { class: "soft" }, told.settles) : null);
}

function chart(explanation, names) {
  const { steps, header } = explanation;
  const step = names.length > 24 ? 22 : 44;
  const width = Math.max(340, LEFT + step * Math.max(1, names.length - 1) + RIGHT);
  const gap = (width - LEFT - RIGHT) / Math.max(1, names.length - 1);
  const x = (i) => LEFT + i * gap;
  const y = (p) => FLOOR - Math.max(0, Math.min(1, p)) * (FLOOR - TOP);
  const label = "Probability of each label after each word of the sentence";
  const picture = svg("svg", { class: "evolution", width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label });
  for (const at of [0, 0.5, 1]) {
    picture.append(svg("line", { class: "axis", x1: LEFT, x2: x(names.length - 1), y1: y(at), y2: y(at) }),
      svg("text", { class: "tick-text", x: LEFT - 6, y: y(at) + 4, "text-anchor": "end" }, String(at)));
  }
  header.labels.forEach((_, k) => {
    const points = steps.map((row, i) => `${x(i).toFixed(1)},${y(row[k]).toFixed(1)}`).join(" ");
    picture.append(svg("g", { class: `line h${k % HUES}` }, svg("polyline", { points }),
      svg("circle", { cx: x(steps.length - 1), cy: y(steps.at(-1)[k]), r: 3.5 })));
  });
  const every = names.length > 24 ? Math.ceil(names.length / 14) : 1;
  names.forEach((name, i) => {
    if (i % every) return;
    const short = name.length > 8 && every === 1 ? `${Array.from(name).slice(0, 7).join("")}…` : name;
    picture.append(svg("text", { class: "tick-text", x: x(i), y: FLOOR + 16 + (every === 1 && i % 2 ? 12 : 0), "text-anchor": i ? "middle" : "start" }, short));
  });
  const key = el("ul", { class: "lines-key" }, header.labels.map((name, k) => el("li", { class: `h${k % HUES}` },
    svg("svg", { class: "evolution swatch", viewBox: "0 0 28 8" }, svg("g", { class: `line h${k % HUES}` }, svg("polyline", { points: "1,4 27,4" }))),
    el("bdi", null, name), " ", el("b", null, fixed(steps.at(-1)[k])))));
  const table = el("table", null, el("caption", null, label),
    el("thead", null, el("tr", null, el("th", { scope: "col" }, "after"), header.labels.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", null, names.map((name, i) => el("tr", null, el("th", { scope: "row" }, name), steps[i].map((p) => el("td", null, fixed(p)))))));
  return [key, el("div", { class: "scroller", role: "region", tabindex: "0", "aria-label": label }, picture, el("div", { class: "unseen" }, table))];
}
