// The check an explanation carries: loud where it says no, with the numbers on a line from 0 to 1.

import { el, fixed, svg } from "./dom.js";

const MARKS = { true: "✓", false: "✗", null: "–" };

/** The verdict as a block, or nothing where the explanation has none. */
export function verdictView(explanation, told) {
  const verdict = explanation.verdict;
  if (!verdict) return null;
  const better = verdict.better ?? null;
  const kind = better === true ? "good" : better === false ? "bad" : "none";
  const judged = told?.judgement || {
    true: "better than random words",
    false: "no better than random words",
    null: "nothing to compare with",
  }[String(better)];
  const lines = told?.sentences ?? [];
  return el("div", { class: `verdict ${kind}`, role: "group", "aria-label": "Check of this explanation" },
    el("p", { class: "judged" }, el("span", { class: "tick", "aria-hidden": "true" }, MARKS[String(better)]), " ",
      judged.charAt(0).toUpperCase() + judged.slice(1)),
    better === null ? null : strip(verdict, explanation.header),
    lines.length ? el("details", { class: "more" }, el("summary", null, "The check in numbers"),
      el("ul", { class: "lines" }, lines.map((line) => el("li", null, el("bdi", null, line))))) : null);
}

const LEFT = 82;
const RIGHT = 334;
const WIDTH = 346;

/** Two lines: these words kept, these words removed; a filled mark for them, rings for random ones. */
function strip(verdict, header) {
  const low = header.against ? -1 : 0;
  const x = (value) => LEFT + ((Math.min(1, Math.max(low, value)) - low) / (1 - low)) * (RIGHT - LEFT);
  const rows = [["kept alone", verdict.kept, verdict.random_kept], ["removed", verdict.removed, verdict.random_removed]];
  const label = `Kept alone ${fixed(verdict.kept)}, removed ${fixed(verdict.removed)}, whole text ${fixed(verdict.whole)}`;
  const picture = svg("svg", { class: "strip", viewBox: `0 0 ${WIDTH} 62`, role: "img", "aria-label": label },
    svg("line", { class: "whole", x1: x(verdict.whole), x2: x(verdict.whole), y1: 4, y2: 46 }));
  rows.forEach(([name, value, random], row) => {
    const y = 13 + row * 22;
    picture.append(
      svg("text", { x: LEFT - 12, y: y + 4, "text-anchor": "end" }, name),
      svg("line", { class: "axis", x1: LEFT, x2: RIGHT, y1: y, y2: y }),
      ...(random ?? []).map((other) => svg("circle", { class: "chance", cx: x(other), cy: y, r: 3.5 })),
      svg("circle", { class: "named-dot", cx: x(value), cy: y, r: 5.5 }),
    );
  });
  picture.append(
    svg("text", { class: "tick-text", x: LEFT, y: 59, "text-anchor": "middle" }, String(low)),
    svg("text", { class: "tick-text", x: RIGHT, y: 59, "text-anchor": "middle" }, "1"),
  );
  const middle = x(verdict.whole);
  if (middle > LEFT + 20 && middle < RIGHT - 12) {
    picture.append(svg("text", { class: "tick-text", x: middle, y: 59, "text-anchor": "middle" }, "whole"));
  }
  return el("div", { class: "strip-box" }, picture,
    el("p", { class: "key", "aria-hidden": "true" },
      svg("svg", { class: "dot", viewBox: "0 0 12 12" }, svg("circle", { class: "named-dot", cx: 6, cy: 6, r: 5 })), "named ",
      svg("svg", { class: "dot", viewBox: "0 0 12 12" }, svg("circle", { class: "chance", cx: 6, cy: 6, r: 4 })), "random ",
      svg("svg", { class: "dot", viewBox: "0 0 12 12" }, svg("line", { class: "whole", x1: 6, x2: 6, y1: 0, y2: 12 })), "whole text"));
}
