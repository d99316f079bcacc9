// Two models, one text, one method: where they look, and whether they agree.

import { postOrFollow } from "./api.js";
import { makeCard } from "./card.js";
import { byId, el, fixed, replace, say, signed } from "./dom.js";
import { byLabel, predictionView } from "./prediction.js";
import { levelClass, levelOf } from "./words.js";

const LISTED = 8;

export class Comparison {
  constructor(composer) {
    this.composer = composer;
    this.cards = [];
    this.stop = null;
  }

  async run() {
    const state = this.composer.state();
    const method = state.methods[0];
    const models = [state.model, state.second];
    const box = byId("comparison");
    if (!models[1]) {
      say("No other model here reads the same kind of input.", "error");
      return;
    }
    this.stop?.abort();
    const stop = (this.stop = new AbortController());
    for (const card of this.cards) card.stop();
    this.cards = models.map((name) => makeCard({ title: name }));
    const cards = el("div", { class: "cards two" }, this.cards.map((card) => card.node));
    replace(box, cards);
    const input = { texts: state.texts, choices: state.choices };
    try {
      const answer = await postOrFollow("api/compare", {
        models, input, method, options: state.options[method] ?? {}, target: this.composer.label("target"),
        against: this.composer.label("against"), seed: Number(state.seed) || 0,
      }, { signal: stop.signal, onJob: (job) => this.cards.forEach((card) => card.progress(job)) });
      if (stop.signal.aborted) return;
      answer.explanations.forEach((explanation, i) => {
        const card = this.cards[i];
        card.show({ answer: { explanation, told: answer.told?.[i] }, model: models[i], input, task: this.composer.model.task });
        card.node.querySelector(".card-body").prepend(predictionView({ ...byLabel(explanation.header) }));
      });
      replace(box, agreement(answer, models, method), cards, differences(answer, models));
    } catch (error) {
      if (stop.signal.aborted || error?.name === "AbortError") return;
      for (const card of this.cards) card.fail(error);
      if (error.kind !== "cancelled") say(error.message, "error");
    }
  }
}

function agreement(answer, models, method) {
  const { kendall_tau: tau, top_k_overlap: overlap } = answer.agreement ?? {};
  const labels = answer.explanations.map((explanation) => byLabel(explanation.header).label);
  const same = labels[0] === labels[1];
  return el("div", { class: "agreement" },
    el("p", { class: "headline" }, same ? "Both say " : el("bdi", null, models[0]), same ? el("strong", null, labels[0]) : [" says ", el("strong", null, labels[0]), ", ", el("bdi", null, models[1]), " says ", el("strong", null, labels[1])]),
    el("dl", { class: "numbers" },
      el("div", null, el("dt", null, "top words in common"), el("dd", null, Number.isFinite(overlap) ? `${Math.round(100 * overlap)} %` : "–")),
      el("div", null, el("dt", null, "agreement of rankings (Kendall’s τ)"), el("dd", null, fixed(tau))),
      el("div", null, el("dt", null, "method"), el("dd", null, method))));
}

function differences(answer, models) {
  const changed = (answer.changed ?? []).slice(0, LISTED);
  if (!changed.length) return null;
  return el("div", { class: "differ" }, el("h2", null, "Where they differ most"),
    el("div", { class: "scroller", role: "region", tabindex: "0", "aria-label": "Words on which the models differ" },
      el("table", { class: "metrics graded" },
        el("thead", null, el("tr", null, el("th", { scope: "col" }, "word"), models.map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", null, changed.map(({ word, a, b }) => el("tr", null,
          el("th", { scope: "row" }, el("bdi", null, typeof word === "string" ? word : word.text)),
          [a, b].map((score) => el("td", { class: levelClass(levelOf(score, 1)) }, signed(score)))))))),
    el("p", { class: "soft small" }, "Scores as shares of the largest of their model."));
}
