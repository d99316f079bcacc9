// Several methods on one input, side by side.

import { post, postOrFollow } from "./api.js";
import { makeCard } from "./card.js";
import { byId, debounce, el, latest, replace, say } from "./dom.js";
import { byLabel, predictionView } from "./prediction.js";

/** One question to `/api/explain`. */
export function question(composer, state, method) {
  return {
    model: state.model, input: { texts: state.texts, choices: state.choices }, method,
    options: state.options[method] ?? {}, target: composer.label("target"), against: composer.label("against"),
    seed: Number(state.seed) || 0,
  };
}

export class Explanations {
  constructor(composer) {
    this.composer = composer;
    this.suggestions = () => null;
    this.cards = [];
    this.asked = null;
    this.stop = null;
    this.asker = latest();
    this.glance = debounce(220, () => this.predict());
  }

  /** All finished explanations, in the order of the cards. */
  done() {
    return this.cards.filter((card) => card.explanation).map((card) => card.explanation);
  }

  /** The model's answer to what is typed now, without being asked. */
  async predict() {
    const missing = this.composer.missing();
    const box = byId("prediction");
    if (missing && missing.field !== null) {
      this.asker.stop();
      replace(box, el("p", { class: "hint" }, "The model’s answer appears here as you type; Explain says why."), this.suggestions());
      return;
    }
    const { model, texts, choices } = this.composer.state();
    try {
      const answer = await this.asker.ask((signal) => post("api/predict", { model, input: { texts, choices } }, signal));
      if (answer) this.showPrediction({ ...answer, model });
    } catch (error) {
      replace(box, el("p", { class: "hint" }, error.message));
    }
  }

  showPrediction(answer) {
    replace(byId("prediction"), predictionView(answer));
  }

  /** Mark what is shown as old when the input no longer is the one explained. */
  compareWithInput() {
    const now = this.composer.state();
    const key = (state) => JSON.stringify([state.model, state.texts, state.choices]);
    const stale = this.asked !== null && key(this.asked) !== key(now);
    byId("stale").hidden = !stale;
    byId("cards").classList.toggle("stale", stale);
  }

  async run(names = null) {
    const state = this.composer.state();
    const task = this.composer.model.task;
    byId("turn").hidden = task === "span-qa"; // its answer is a part of the text: there is no label to turn
    const methods = names ?? state.methods;
    this.clear();
    const stop = (this.stop = new AbortController());
    this.asked = state;
    byId("results").hidden = false;
    // On a small screen the answer would come below what can be seen.
    const box = byId("prediction").getBoundingClientRect();
    if (box.top > 0.8 * innerHeight) byId("prediction").scrollIntoView({ block: "start" });
    this.cards = methods.map((method) => {
      const card = makeCard({
        title: method, summary: this.composer.methods.summary(method),
        onClose: () => this.close(card),
      });
      return card;
    });
    replace(byId("cards"), this.cards.map((card) => card.node));
    this.legend();
    this.compareWithInput();
    this.together();
    const input = { texts: state.texts, choices: state.choices };
    let failed = 0;
    await Promise.all(this.cards.map(async (card, i) => {
      try {
        const answer = await postOrFollow("api/explain", question(this.composer, state, methods[i]), {
          signal: stop.signal, onJob: (job) => card.progress(job),
        });
        if (stop.signal.aborted) return;
        card.show({ answer, model: state.model, input, task, onSlide: (k) => this.slide(card, k) });
        this.arrange();
        this.asker.stop();
        this.glance.cancel();
        if (JSON.stringify(this.composer.input()) === JSON.stringify(input)) {
          this.showPrediction({ ...byLabel(answer.explanation.header), model: state.model });
        }
      } catch (error) {
        if (stop.signal.aborted || error?.name === "AbortError") return;
        card.fail(error);
        if (error.kind !== "cancelled") {
          failed += 1;
          say(error.message, "error");
        }
      }
    }));
    if (stop.signal.aborted) return;
    this.legend();
    if (!failed && this.done().length) say(`${this.done().length === 1 ? "Explanation" : `${this.done().length} explanations`} ready`);
  }

  close(card) {
    card.stop();
    card.node.remove();
    this.cards = this.cards.filter((other) => other !== card);
    this.together();
    this.arrange();
    if (!this.cards.length) this.clear();
  }

  slide(from, k) {
    if (!byId("together").checked) return;
    for (const card of this.cards) if (card !== from) card.keep(k);
  }

  /** As many columns as there are cards that fit beside each other. */
  arrange() {
    const narrow = this.cards.filter((card) => !card.node.classList.contains("wide")).length;
    byId("cards").dataset.beside = String(Math.min(3, narrow));
  }

  together() {
    byId("together-box").hidden = this.cards.length < 2;
  }

  legend() {
    const kinds = new Set(this.done().map((explanation) => explanation.kind));
    const targets = [...new Set(this.done().map((explanation) => explanation.header.target))];
    const label = targets.length === 1 ? targets[0] : "the label";
    replace(byId("legend"), kinds.has("word-scores") || kinds.has("alignments") || !kinds.size
      ? [el("span", { class: "f7 sample" }, "for ", el("bdi", null, label)), el("span", { class: "a7 sample" }, "against it"),
        el("span", { class: "soft" }, "Click a word to take it away.")]
      : kinds.has("rationale") ? el("span", { class: "f6 sample" }, "selected by the model") : "");
  }

  clear() {
    this.stop?.abort();
    for (const card of this.cards) card.stop();
    this.cards = [];
    this.asked = null;
    replace(byId("cards"));
    byId("results").hidden = true;
    byId("stale").hidden = true;
    for (const id of ["evaluation", "turning"]) {
      byId(id).hidden = true;
      replace(byId(id));
    }
  }
}
