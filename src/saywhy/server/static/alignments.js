// Pairs of words of two texts: links between phrases, and the table of all scores with a box around each phrase pair.

import { el, signed, svg, visible } from "./dom.js";
import { hideTip, levelClass, levelOf, peak, showTip } from "./words.js";

export const HUES = 8;
const SIDE = 60;
const LONGEST = 80;
const GAP = 9;
const TOP = 22;
const BOTTOM = 128;
const HEIGHT = 146;

/** Each word's strongest pair, premise first: what colours the texts. */
export function margins(explanation) {
  const strongest = (row) => row.reduce((best, s) => (Math.abs(s ?? 0) > Math.abs(best) ? s : best), 0);
  const columns = explanation.hypothesis.map((_, j) => strongest(explanation.scores.map((row) => row[j])));
  return [...explanation.scores.map(strongest), ...columns];
}

/** What to link, with scores: the phrase pairs, or the strongest word pairs where a method selects none. */
export function linked(explanation, told) {
  if (told?.links) return told.links.map(([box, score]) => ({ box, score }));
  const { boxes = [], phrases = [], scores, selected = [] } = explanation;
  if (boxes.length && boxes.length === phrases.length) return boxes.map((box, i) => ({ box, score: phrases[i][2] }));
  if (selected.length) return [];
  const cells = scores.flatMap((row, i) => row.map((score, j) => ({ box: [i, i, j, j], score })));
  return cells.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score).slice(0, 5);
}

export const phrase = (words, first, last) => words.slice(first, last + 1).map((word) => word.text).join(" ");

/** The texts, links, phrase list and matrix; pointing at one of them lights the others. */
export function alignmentsView(explanation, told, texts) {
  const links = linked(explanation, told);
  const node = el("div", { class: "aligned" },
    el("div", { class: "aligned-side" }, texts, linksView(explanation, links), phraseList(explanation, links)),
    matrixView(explanation, links));
  const light = (event) => {
    const pair = event.target.closest?.("[data-pair]")?.dataset.pair;
    for (const part of node.querySelectorAll("[data-pair]")) {
      part.classList.toggle("lit", pair !== undefined && part.dataset.pair === pair);
    }
    node.classList.toggle("lighting", pair !== undefined);
    const told = event.target.closest?.("[data-tip]");
    if (told) showTip(told);
    else hideTip();
  };
  node.addEventListener("pointerover", light);
  node.addEventListener("focusin", light);
  node.addEventListener("pointerleave", light);
  return node;
}

let ruler = null;

function widthOf(text) {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = `16px ${getComputedStyle(document.documentElement).getPropertyValue("--serif") || "serif"}`;
  return Math.max(6, ruler.measureText(visible(text)).width);
}

function places(words) {
  let at = 4;
  return words.map((word) => {
    const start = at;
    const end = start + widthOf(word.text);
    at = end + GAP;
    return [start, end];
  });
}

function linksView(explanation, links) {
  const { premise, hypothesis } = explanation;
  if (!links.length || Math.max(premise.length, hypothesis.length) > LONGEST) return null;
  const above = places(premise);
  const below = places(hypothesis);
  const shift = (above.at(-1)[1] - below.at(-1)[1]) / 2;
  const move = (row, by) => row.forEach((place) => { place[0] += by; place[1] += by; });
  if (shift > 0) move(below, shift);
  else move(above, -shift);
  const width = Math.ceil(Math.max(above.at(-1)[1], below.at(-1)[1]) + 4);
  const top = peak(links.map(({ score }) => score)) || 1;
  const label = "Links between phrases of the premise (above) and of the hypothesis (below)";
  const picture = svg("svg", { class: "links", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label });
  links.forEach(({ box: [first, last, left, right], score }, i) => {
    const [a, b, c, d] = [above[first][0], above[last][1], below[left][0], below[right][1]];
    const middle = (TOP + BOTTOM) / 2 - 4;
    const [from, to] = [TOP + 8, BOTTOM - 20];
    const band = svg("path", {
      d: `M${a} ${from}C${a} ${middle} ${c} ${middle} ${c} ${to}L${d} ${to}C${d} ${middle} ${b} ${middle} ${b} ${from}Z`,
      class: "band", "fill-opacity": (0.14 + 0.36 * Math.abs(score) / top).toFixed(2),
    });
    const x = (a + b + c + d) / 4;
    picture.append(svg("g", {
      class: `link h${i % HUES}`,
      "data-pair": i,
      "data-tip": `${phrase(premise, first, last)} ↔ ${phrase(hypothesis, left, right)}: ${signed(score)}`,
    },
    band,
    svg("path", { d: `M${a} ${from}H${b}M${c} ${to}H${d}`, class: "ends" }),
    svg("circle", { cx: x, cy: middle, r: 9, class: "badge" }),
    svg("text", { x, y: middle + 4, "text-anchor": "middle", class: "badge-text" }, String(i + 1))));
  });
  for (const [words, row, y] of [[premise, above, TOP], [hypothesis, below, BOTTOM]]) {
    words.forEach((word, i) => picture.append(svg("text", { x: row[i][0], y, class: "link-word" }, word.text)));
  }
  // It shrinks with its card as far as it can still be read.
  picture.style.maxWidth = `${width}px`;
  picture.style.minWidth = `${Math.round(0.68 * width)}px`;
  return el("div", { class: "scroller", role: "region", tabindex: "0", "aria-label": label }, picture);
}

/** The strongest rows or columns, in their own order, where there are too many for a table. */
function strongestLines(rows) {
  const order = rows.map((_, i) => i).sort((a, b) => peak(rows[b]) - peak(rows[a]));
  return order.slice(0, SIDE).sort((a, b) => a - b);
}

function matrixView(explanation, links) {
  const { premise, hypothesis, scores } = explanation;
  const across = hypothesis.map((_, j) => scores.map((row) => row[j]));
  const rows = strongestLines(scores);
  const columns = strongestLines(across);
  const top = peak(scores.flat());
  const boxes = (explanation.phrases?.length ? links : []).map(({ box }) => box);
  const head = el("tr", null, el("td"), columns.map((j) =>
    el("th", { scope: "col" }, el("span", null, hypothesis[j].text))));
  const body = rows.map((i) => el("tr", null,
    el("th", { scope: "row" }, premise[i].text),
    columns.map((j) => {
      const within = boxes.findIndex(([t, b, l, r]) => t <= i && i <= b && l <= j && j <= r);
      const edges = within < 0 ? [] : edgesOf(boxes[within], i, j);
      const link = links.findIndex(({ box: [t, b, l, r] }) => t <= i && i <= b && l <= j && j <= r);
      return el("td", {
        class: [levelClass(levelOf(scores[i][j], top)), ...edges].filter(Boolean).join(" "),
        data: { tip: `${premise[i].text} ↔ ${hypothesis[j].text}: ${signed(scores[i][j])}`, ...(link < 0 ? {} : { pair: link }) },
      });
    })));
  const cut = rows.length < premise.length || columns.length < hypothesis.length;
  const label = "Scores of word pairs, premise down, hypothesis across";
  return el("div", { class: "matrix-box" },
    el("div", { class: "scroller", role: "region", tabindex: "0", "aria-label": label },
      el("table", { class: "matrix" }, el("caption", { class: "unseen" }, label), el("thead", null, head), el("tbody", null, body))),
    cut ? el("p", { class: "soft small" }, `The table shows the strongest ${rows.length} of ${premise.length} rows and ${columns.length} of ${hypothesis.length} columns.`) : null);
}

function edgesOf([top, bottom, left, right], i, j) {
  return [["bt", i === top], ["bb", i === bottom], ["bl", j === left], ["br", j === right]]
    .filter(([, there]) => there).map(([name]) => name);
}

function phraseList(explanation, links) {
  const { premise, hypothesis } = explanation;
  if (!links.length) return el("p", { class: "soft" }, "No pair of phrases was selected.");
  return el("ol", { class: "phrases", "aria-label": explanation.phrases?.length ? "Phrase pairs that decided" : "Strongest word pairs" },
    links.map(({ box: [first, last, left, right], score }, i) => el("li", { class: `h${i % HUES}`, data: { pair: i } },
      el("span", { class: "num", "aria-hidden": "true" }, String(i + 1)),
      el("bdi", null, phrase(premise, first, last)), el("span", { class: "arrow" }, " ↔ "),
      el("bdi", null, phrase(hypothesis, left, right)), " ", el("b", { class: "score" }, signed(score)))));
}
