// One method's explanation of one input, from the moment it is asked for.

import { alignmentsView, margins } from "./alignments.js";
import { cancel } from "./api.js";
import { duration, el, plural, replace, say, signed } from "./dom.js";
import { byLabel } from "./prediction.js";
import { sentenceView } from "./sentence.js";
import { verdictView } from "./verdict.js";
import { whatIf } from "./whatif.js";
import { fieldNames, levelOf, peak, spoken, wordsView } from "./words.js";

const LISTED = 400;

/** A card that waits, fails, or holds an explanation. `title` is the method's or the model's name. */
export function makeCard({ title, summary = "", onClose = null }) {
  const aside = el("span", { class: "aside" });
  const body = el("div", { class: "card-body" });
  const close = onClose && el("button", { type: "button", class: "quiet icon", "aria-label": `Close ${title}`, on: { click: onClose } }, "×");
  const node = el("article", { class: "card", "aria-label": title, "aria-busy": "true" },
    el("header", { class: "card-head" }, el("h3", { title: summary || null }, el("bdi", null, title)), aside, close),
    body);
  let slider = null;
  let running = null;

  const card = {
    node,
    explanation: null,
    told: null,
    wait() {
      node.setAttribute("aria-busy", "true");
      replace(aside, "");
      replace(body, el("div", { class: "skeleton", "aria-hidden": "true" }, el("i"), el("i"), el("i")), el("p", { class: "unseen" }, "Working"));
    },
    /** A long method became a job: its progress, and a way to stop it. */
    progress(job) {
      running = job.id;
      const { calls = 0, seconds = 0, fraction = null } = job.progress ?? {};
      if (!body.querySelector("progress")) {
        const stop = el("button", { type: "button", class: "quiet" }, "Cancel");
        stop.addEventListener("click", async () => {
          stop.disabled = true;
          stop.textContent = "Cancelling …";
          try {
            await cancel(job.id);
          } catch (error) {
            say(error.message, "error");
            stop.disabled = false;
          }
        });
        replace(body, el("div", { class: "working" }, el("p", { class: "working-text" }), el("progress", { max: 1, "aria-label": `Progress of ${title}` }), stop));
      }
      const bar = body.querySelector("progress");
      if (fraction === null) bar.removeAttribute("value");
      else bar.value = fraction;
      const state = job.state === "queued" ? "Waiting for its turn" : `${plural(calls, "model call")} · ${duration(seconds)}`;
      replace(body.querySelector(".working-text"), state);
    },
    fail(error) {
      running = null;
      node.setAttribute("aria-busy", "false");
      const cancelled = error.kind === "cancelled";
      replace(body, el("p", { class: cancelled ? "stopped" : "failed", role: cancelled ? "status" : null }, cancelled ? "Cancelled. The model was stopped." : error.message));
    },
    show({ answer, model, input, task, onSlide }) {
      running = null;
      node.setAttribute("aria-busy", "false");
      const { explanation, told = null } = answer;
      card.explanation = explanation;
      card.told = told;
      const view = explanationView({ explanation, told, model, input, task, onSlide });
      slider = view.slider;
      node.classList.toggle("wide", explanation.kind === "alignments" || (explanation.kind === "free-text" && (explanation.steps?.length ?? 0) > 8));
      const { header } = explanation;
      replace(node.querySelector("h3 bdi"), title === "auto" ? `auto: ${header.method}` : title);
      replace(aside, asideOf(header, answer));
      replace(body, view.parts);
    },
    keep(k) {
      slider?.keep(k);
    },
    /** Whoever closes the card no longer wants its job. */
    stop() {
      slider?.stop();
      if (running) cancel(running).catch(() => {});
      running = null;
    },
  };
  card.wait();
  return card;
}

function asideOf(header, { cached, seconds }) {
  const asked = header.against ? `why ${header.target}, not ${header.against}` : header.target === byLabel(header).label ? "" : `why ${header.target}`;
  const time = cached ? "from cache" : Number.isFinite(seconds) ? duration(seconds) : "";
  return [el("bdi", null, asked), asked && time ? " · " : "", time];
}

/** The parts of a card, in slots that line up with those of its neighbours. */
function explanationView({ explanation, told, model, input, task, onSlide }) {
  const { header, kind } = explanation;
  const fields = [...header.texts, ...header.choices];
  const names = fieldNames(header.texts, header.choices, task);
  const { words, scores, selected, said } = scored(explanation);
  const top = peak(scores);
  let slider = null;
  const text = wordsView({
    fields, names, words, said, selected,
    levels: words.map((_, i) => (selected ? (selected[i] ? 6 : 0) : levelOf(scores[i], top))),
    label: words.length ? "Words of the input. Arrow keys walk them, Enter takes one away." : "The input",
    onRemove: words.length ? (at) => slider.toggle(at) : null,
  });
  if (words.length) {
    slider = whatIf({
      model, input, target: header.target, whole: wholeOf(explanation), order: ranking(words, scores, selected),
      onChange: (removed) => text.show(removed), onSlide,
    });
  }
  const slot = (...children) => el("div", { class: "slot" }, children);
  const notes = (header.notes ?? []).filter(Boolean);
  const parts = [
    slot(kind === "alignments" ? alignmentsView(explanation, told, text.node) : text.node, kind === "free-text" ? sentenceView(explanation, told) : null),
    slot(summaryOf(explanation, told, words, scores, selected)),
    slot(verdictView(explanation, told)),
    slot(slider?.node),
    slot(kind === "word-scores" ? scoreTable(words, scores, header.target) : null, details(explanation),
      notes.length ? el("div", { class: "notes" }, notes.map((note) => el("p", null, note))) : null),
  ];
  return { parts, slider };
}

/** Words, scores, flags and what is said aloud of each, for every kind that has words. */
export function scored(explanation) {
  const { header } = explanation;
  if (explanation.kind === "free-text") return { words: [], scores: [], selected: null, said: [] };
  if (explanation.kind === "alignments") {
    const words = [...explanation.premise, ...explanation.hypothesis];
    const scores = margins(explanation);
    return { words, scores, selected: null, said: scores.map((s) => `strongest pair ${signed(s)}`) };
  }
  const words = explanation.words;
  const scores = explanation.scores?.length ? explanation.scores : words.map(() => 0);
  if (explanation.kind === "rationale") {
    const selected = explanation.selected;
    const said = words.map((_, i) => (selected[i] ? "selected" : "not selected") + (explanation.scores?.length ? `, ${signed(scores[i])}` : ""));
    return { words, scores, selected, said };
  }
  return { words, scores, selected: null, said: scores.map((s) => spoken(s, header.target)) };
}

/** Words best first: selected ones, then by score, then in the order of the text. */
export function ranking(words, scores, selected) {
  const value = (i) => (Number.isFinite(scores[i]) ? scores[i] : -Infinity);
  const chosen = (i) => (selected?.[i] ? 1 : 0);
  return words.map((_, i) => i).sort((a, b) => chosen(b) - chosen(a) || value(b) - value(a) || a - b);
}

function wholeOf({ header }) {
  const at = header.labels.indexOf(header.target);
  return at < 0 ? NaN : header.probabilities[at];
}

function summaryOf(explanation, told, words, scores, selected) {
  if (explanation.kind === "free-text") return null;
  if (explanation.kind === "rationale") {
    return el("p", { class: "summary" }, `${selected.filter(Boolean).length} of ${words.length} words selected`);
  }
  if (explanation.kind === "alignments") return told?.rationale ? el("p", { class: "summary" }, told.rationale) : null;
  const top = peak(scores);
  const order = words.map((_, i) => i).filter((i) => levelOf(scores[i], top)).sort((a, b) => scores[b] - scores[a]);
  const pick = (list, name) => list.length > 0 && el("span", { class: name },
    list.map((i) => [el("span", { class: "pick-word" }, el("bdi", null, words[i].text), " ", el("b", null, signed(scores[i]))), " "]));
  const best = order.filter((i) => scores[i] > 0).slice(0, 3);
  const worst = order.filter((i) => scores[i] < 0).reverse().slice(0, 2);
  if (!best.length && !worst.length) return el("p", { class: "summary" }, "No word stands out.");
  return el("p", { class: "summary", "aria-label": "Strongest words" }, pick(best, "pros"), pick(worst, "cons"));
}

function scoreTable(words, scores, target) {
  const shown = words.slice(0, LISTED);
  const top = peak(scores);
  return el("details", { class: "more" }, el("summary", null, "All scores"),
    el("div", { class: "scroller tall", role: "region", tabindex: "0", "aria-label": "All scores" },
      el("table", { class: "scores" },
        el("caption", { class: "unseen" }, `Score of every word for ${target}`),
        el("thead", null, el("tr", null, el("th", { scope: "col" }, "word"), el("th", { scope: "col" }, "score"))),
        el("tbody", null, shown.map((word, i) => {
          const bar = el("span", { class: `grade ${scores[i] < 0 ? "minus" : "plus"}`, "aria-hidden": "true" });
          bar.style.width = `${top > 0 ? (48 * Math.abs(scores[i] ?? 0)) / top : 0}px`;
          return el("tr", null, el("th", { scope: "row" }, el("bdi", null, word.text)), el("td", null, bar, signed(scores[i])));
        })))),
    words.length > LISTED ? el("p", { class: "soft small" }, `The first ${LISTED} of ${words.length} words.`) : null);
}

function fact(value) {
  if (value && typeof value === "object") return Object.entries(value).map(([k, v]) => `${v} ${k}`).join(", ");
  return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(3))) : String(value);
}

function details(explanation) {
  const { header, verdict } = explanation;
  const facts = {
    "explained output": header.output, space: header.space, erasure: header.erasure, ...header.parameters, seed: header.seed,
    error: explanation.error, cost: explanation.cost, "erasure of the check": verdict?.erasure,
    "cost of the check": verdict?.cost, model: header.model, version: header.version,
  };
  const empty = (value) => value === null || value === undefined || value === "" || (typeof value === "object" && !Object.keys(value).length);
  return el("details", { class: "more" }, el("summary", null, "How it was made"),
    el("dl", { class: "facts-list" }, Object.entries(facts).filter(([, v]) => !empty(v)).map(([k, v]) => [el("dt", null, k), el("dd", null, fact(v))])));
}

