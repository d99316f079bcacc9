// The explanations as one picture, drawn on a canvas in the colours of the page.

import { linked, phrase } from "./alignments.js";
import { scored } from "./card.js";
import { fixed, signed, visible } from "./dom.js";
import { byLabel } from "./prediction.js";
import { fieldNames, LEVELS, levelOf, peak, segments } from "./words.js";

const WIDTH = 1000;
const EDGE = 44;
const LIMIT = 16000; // Browsers refuse taller canvases.
const CELL = 26;

/** A canvas with every explanation; drawn twice, first to learn how tall it is. */
export function drawPicture(explanations, model, told = []) {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  const look = {
    paper: read("--sheet") || "#fff", ink: read("--ink") || "#111", soft: read("--soft") || "#666", line: read("--line") || "#ddd",
    plus: read("--for") || "0 110 190", minus: read("--con") || "226 112 0", warm: read("--warm") || "#a04d00",
    good: read("--good") || "#007a5a", sans: read("--sans") || "sans-serif", serif: read("--serif") || "serif",
  };
  const canvas = document.createElement("canvas");
  const scale = 2;
  canvas.width = WIDTH * scale;
  canvas.height = 10;
  const tall = Math.min(LIMIT / scale, Math.ceil(paint(canvas.getContext("2d"), look, explanations, model, told)));
  canvas.height = tall * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.fillStyle = look.paper;
  pen.fillRect(0, 0, WIDTH, tall);
  paint(pen, look, explanations, model, told);
  return canvas;
}

function paint(pen, look, explanations, model, told) {
  const said = byLabel(explanations[0].header);
  let y = EDGE + 20;
  write(pen, look.soft, `15px ${look.sans}`, `${model} says`, EDGE, y);
  y += 38;
  write(pen, look.ink, `600 32px ${look.serif}`, said.label, EDGE, y);
  const sure = said.probabilities.find(([name]) => name === said.label)?.[1];
  if (Number.isFinite(sure)) write(pen, look.soft, `22px ${look.sans}`, fixed(sure), EDGE + widthOf(pen, `600 32px ${look.serif}`, said.label) + 14, y);
  y += 30;
  explanations.forEach((explanation, i) => {
    pen.strokeStyle = look.line;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(EDGE, y);
    pen.lineTo(WIDTH - EDGE, y);
    pen.stroke();
    y = paintOne(pen, look, explanation, told[i], y + 34) + 26;
  });
  write(pen, look.soft, `13px ${look.sans}`, "saywhy", EDGE, y + 8);
  return y + EDGE;
}

function paintOne(pen, look, explanation, told, top) {
  const { header, kind } = explanation;
  let y = top;
  const against = header.against ? `, not ${header.against}` : "";
  write(pen, look.ink, `600 17px ${look.sans}`, header.method, EDGE, y);
  write(pen, look.soft, `15px ${look.sans}`, `why ${header.target}${against}`, EDGE + widthOf(pen, `600 17px ${look.sans}`, header.method) + 12, y);
  y += 36;
  const fields = [...header.texts, ...header.choices];
  const names = fieldNames(header.texts, header.choices);
  const { words, scores, selected } = scored(explanation);
  const most = peak(scores);
  fields.forEach((text, field) => {
    if (names[field]) {
      write(pen, look.soft, `13px ${look.sans}`, names[field], EDGE, y - 4);
      y += 22;
    }
    const level = (at) => (at === null ? 0 : selected ? (selected[at] ? 6 : 0) : levelOf(scores[at], most));
    y = paintText(pen, look, segments(text, field, words), level, y) + 14;
  });
  if (kind === "alignments") y = paintPairs(pen, look, explanation, told, y);
  if (kind === "free-text") y = paintText(pen, look, segments(`“${explanation.sentence}”`, 0, []), () => 0, y + 6) + 8;
  if (told?.judgement) {
    const better = explanation.verdict?.better;
    const mark = better === true ? "✓" : better === false ? "✗" : "–";
    write(pen, better === true ? look.good : better === false ? look.warm : look.soft, `600 15px ${look.sans}`, `${mark} ${told.judgement}`, EDGE, y + 4);
    y += 20;
  }
  return y;
}

/** Words with their colours, broken into lines as they fill. Returns where the next block begins. */
function paintText(pen, look, parts, levelAt, top) {
  const font = (strong) => `${strong ? 600 : 400} 21px ${look.serif}`;
  let x = EDGE;
  let y = top;
  for (const part of parts) {
    const level = levelAt(part.at);
    const pieces = part.at === null ? visible(part.text).split(/(\s+)/) : [visible(part.text)];
    for (const piece of pieces) {
      if (!piece) continue;
      if (/^\s+$/.test(piece)) {
        if (x > EDGE) x += 6;
        continue;
      }
      for (const run of fitted(pen, font(Math.abs(level) >= 6), piece)) {
        const wide = widthOf(pen, font(Math.abs(level) >= 6), run);
        if (x + wide > WIDTH - EDGE && x > EDGE) {
          x = EDGE;
          y += 36;
        }
        if (level) shade(pen, look, level, x, y, wide);
        write(pen, look.ink, font(Math.abs(level) >= 6), run, x, y);
        x += wide;
      }
    }
  }
  return y + 30;
}

/** A word wider than the picture is cut into runs that fit. */
function fitted(pen, font, text) {
  if (widthOf(pen, font, text) <= WIDTH - 2 * EDGE) return [text];
  const chars = Array.from(text);
  const runs = [];
  for (let at = 0; at < chars.length; at += 40) runs.push(chars.slice(at, at + 40).join(""));
  return runs;
}

function shade(pen, look, level, x, y, wide) {
  const colour = level > 0 ? look.plus : look.minus;
  pen.fillStyle = `rgb(${colour} / ${((0.6 * Math.abs(level)) / LEVELS).toFixed(2)})`;
  pen.fillRect(x - 1, y - 20, wide + 2, 28);
  pen.fillStyle = `rgb(${colour})`;
  if (level > 0) pen.fillRect(x, y + 7, wide, 2);
  else for (let at = x; at < x + wide; at += 6) pen.fillRect(at, y + 7, Math.min(3, x + wide - at), 2);
}

function paintPairs(pen, look, explanation, told, top) {
  const { premise, hypothesis, scores } = explanation;
  let y = top;
  const most = peak(scores.flat());
  const fits = premise.length <= 40 && hypothesis.length * CELL < WIDTH - 2 * EDGE - 160;
  if (fits) {
    const font = `14px ${look.sans}`;
    const left = EDGE + Math.max(...premise.map((word) => widthOf(pen, font, word.text))) + 14;
    const tall = Math.max(...hypothesis.map((word) => widthOf(pen, font, word.text))) + 10;
    hypothesis.forEach((word, j) => {
      pen.save();
      pen.translate(left + j * CELL + CELL / 2 + 5, y + tall - 4);
      pen.rotate(-Math.PI / 2);
      write(pen, look.ink, font, word.text, 0, 0);
      pen.restore();
    });
    y += tall;
    premise.forEach((word, i) => {
      write(pen, look.ink, font, word.text, left - 10 - widthOf(pen, font, word.text), y + i * CELL + 18);
      hypothesis.forEach((_, j) => {
        const level = levelOf(scores[i][j], most);
        if (level) {
          pen.fillStyle = `rgb(${level > 0 ? look.plus : look.minus} / ${((0.75 * Math.abs(level)) / LEVELS).toFixed(2)})`;
          pen.fillRect(left + j * CELL, y + i * CELL, CELL, CELL);
        }
        pen.strokeStyle = look.line;
        pen.lineWidth = 1;
        pen.strokeRect(left + j * CELL, y + i * CELL, CELL, CELL);
      });
    });
    pen.strokeStyle = look.ink;
    pen.lineWidth = 2;
    if (explanation.phrases?.length) {
      for (const { box: [a, b, c, d] } of linked(explanation, told)) {
        pen.strokeRect(left + c * CELL, y + a * CELL, (d - c + 1) * CELL, (b - a + 1) * CELL);
      }
    }
    y += premise.length * CELL + 28;
  }
  linked(explanation, told).forEach(({ box: [a, b, c, d], score }, i) => {
    write(pen, look.ink, `15px ${look.sans}`, `${i + 1}  ${phrase(premise, a, b)} ↔ ${phrase(hypothesis, c, d)}  ${signed(score)}`, EDGE, y);
    y += 24;
  });
  return y + 8;
}

function widthOf(pen, font, text) {
  pen.font = font;
  return pen.measureText(visible(text)).width;
}

function write(pen, colour, font, text, x, y) {
  pen.fillStyle = colour;
  pen.font = font;
  pen.fillText(visible(text), x, y);
}
