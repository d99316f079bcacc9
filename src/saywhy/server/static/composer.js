// The input: a model, one text, a pair or a question with choices, and what is asked about it.

import { get } from "./api.js";
import { byId, el, replace, say } from "./dom.js";
import { MethodPicker } from "./methods.js";

const TASKS = { text: "one text", pair: "two texts", choices: "question and choices", "span-qa": "question and context" };

export class Composer {
  /** `onChange` hears of every edit, `onSubmit` of Explain. */
  constructor({ onChange, onSubmit }) {
    this.models = [];
    this.onChange = onChange;
    this.texts = ["", ""];
    this.choices = ["", ""];
    this.wanted = { target: "", against: "" };
    this.methods = new MethodPicker(onChange);
    this.form = byId("composer");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      onSubmit();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !this.form.hidden) {
        event.preventDefault();
        onSubmit();
      }
    });
    byId("model").addEventListener("change", () => this.useModel());
    byId("second").addEventListener("change", onChange);
    for (const id of ["target", "against"]) {
      byId(id).addEventListener("change", (event) => {
        this.wanted[id] = event.target.value;
        onChange();
      });
    }
    byId("seed").addEventListener("change", onChange);
  }

  get model() {
    return this.models.find((model) => model.name === byId("model").value);
  }

  async start(models, state) {
    this.models = models;
    replace(byId("model"), models.map((model) => el("option", { value: model.name }, model.name)));
    byId("model").disabled = models.length === 0;
    byId("explain").disabled = models.length === 0;
    await this.restore(state);
  }

  /** Put the page where a link says. */
  async restore(state) {
    const known = (name) => this.models.some((model) => model.name === name);
    if (state.model && !known(state.model)) say(`This server has no model called “${state.model}”.`, "error");
    if (known(state.model)) byId("model").value = state.model;
    this.drawSecond(state.second);
    if (state.texts.length) this.texts = [...state.texts, ""].slice(0, Math.max(2, state.texts.length));
    if (state.choices.length) this.choices = [...state.choices];
    this.wanted = { target: state.target ?? "", against: state.against ?? "" };
    this.methods.chosen = [...state.methods];
    this.methods.options = { ...state.options };
    byId("seed").value = String(Number.parseInt(state.seed ?? "0", 10) || 0);
    if (state.target || state.against || Object.keys(state.options).length || Number(state.seed)) byId("settings").open = true;
    await this.useModel();
  }

  async useModel() {
    const model = this.model;
    if (!model) return;
    const count = model.parameters;
    const size = count ? (count >= 1e6 ? `${(count / 1e6).toFixed(count >= 1e7 ? 0 : 1)} M parameters` : `${Math.max(1, Math.round(count / 1e3))} k parameters`) : "";
    replace(byId("model-facts"), [model.black_box ? "" : model.kind.replace(/For[A-Z]\w*$/, ""), TASKS[model.task], model.black_box ? "black box" : size].filter(Boolean).join(" · "));
    this.drawSecond();
    this.drawFields();
    this.drawLabels();
    this.onChange();
    try {
      const { methods } = await get(`api/methods?model=${encodeURIComponent(model.name)}`);
      if (model === this.model) this.methods.load(methods, model.default_methods ?? []);
    } catch (error) {
      say(error.message, "error");
    }
  }

  /** Models that read the same kind of input, to compare with. */
  drawSecond(wanted = byId("second").value) {
    const others = this.models.filter((model) => model !== this.model && model.task === this.model?.task);
    replace(byId("second"), others.map((model) => el("option", { value: model.name }, model.name)));
    if (others.some((model) => model.name === wanted)) byId("second").value = wanted;
  }

  drawLabels() {
    const labels = this.model.labels?.length ? this.model.labels : this.choicesGiven().map((_, i) => String(i));
    const shown = (label, i) => (this.model.labels?.length ? label : `choice ${i + 1}`);
    for (const [id, none] of [["target", "the predicted label"], ["against", "anything else"]]) {
      replace(byId(id), el("option", { value: "" }, none), labels.map((label, i) => el("option", { value: label }, shown(label, i))));
      byId(id).value = labels.includes(this.wanted[id]) ? this.wanted[id] : "";
    }
  }

  choicesGiven() {
    return this.choices.map((choice) => choice.trim()).filter(Boolean);
  }

  drawFields() {
    const task = this.model.task;
    const names = { pair: ["Premise", "Hypothesis"], "span-qa": ["Question", "Context"], choices: ["Question"] }[task] ?? ["Text"];
    const hints = { pair: ["First text", "Second text"], "span-qa": ["A question", "The text that answers it"], choices: ["A question"] }[task] ?? ["Type or paste a text"];
    const areas = names.map((name, i) => {
      const id = `text-${i}`;
      const area = el("textarea", { id, rows: names.length > 1 ? 2 : 3, placeholder: hints[i], value: this.texts[i] ?? "", spellcheck: false, dir: "auto", "aria-label": name });
      area.addEventListener("input", () => {
        this.texts[i] = area.value;
        this.onChange();
      });
      return el("div", { class: "field" }, names.length > 1 || task === "choices" ? el("label", { htmlFor: id }, name) : null, area);
    });
    const box = byId("fields");
    replace(box, areas, task === "choices" ? this.choiceFields() : null);
    box.classList.toggle("two", names.length > 1);
  }

  choiceFields() {
    const redraw = (focus) => {
      this.drawFields();
      this.drawLabels();
      this.onChange();
      byId(focus)?.focus();
    };
    const rows = this.choices.map((choice, i) => {
      const input = el("input", { type: "text", id: `choice-${i}`, value: choice, placeholder: "A possible answer", dir: "auto", "aria-label": `Choice ${i + 1}` });
      input.addEventListener("input", () => {
        this.choices[i] = input.value;
        this.drawLabels();
        this.onChange();
      });
      const remove = el("button", {
        type: "button", class: "quiet icon", "aria-label": `Remove choice ${i + 1}`, disabled: this.choices.length <= 2,
        on: { click: () => { this.choices.splice(i, 1); redraw("choice-0"); } },
      }, "×");
      return el("li", null, input, remove);
    });
    const add = el("button", {
      type: "button", class: "quiet", on: { click: () => { this.choices.push(""); redraw(`choice-${this.choices.length - 1}`); } },
    }, "Add a choice");
    return el("div", { class: "field choices", role: "group", "aria-label": "Choices" }, el("span", { class: "label" }, "Choices"), el("ol", null, rows), add);
  }

  /** Take an example of a dataset. */
  use(input) {
    this.texts = [...input.texts, ""].slice(0, 2);
    if (input.choices?.length) this.choices = [...input.choices];
    this.drawFields();
    this.drawLabels();
    this.onChange();
  }

  input() {
    const pair = this.model?.task === "pair" || this.model?.task === "span-qa";
    return {
      texts: pair ? [this.texts[0] ?? "", this.texts[1] ?? ""] : [this.texts[0] ?? ""],
      choices: this.model?.task === "choices" ? this.choicesGiven() : [],
    };
  }

  /** Whether there is something to ask about, or what is missing. */
  missing() {
    const { texts, choices } = this.input();
    if (!this.model) return "There is no model.";
    const empty = texts.findIndex((text) => !text.trim());
    if (empty >= 0) return { field: `text-${empty}`, message: texts.length > 1 ? "Both texts are needed." : "Type a text first." };
    if (this.model.task === "choices" && choices.length < 2) return { field: "choice-0", message: "At least two choices are needed." };
    if (!this.methods.names().length) return { field: null, message: "Choose at least one method." };
    return null;
  }

  /** A label as the server takes it: by its name, a choice by its number. */
  label(id) {
    const value = byId(id).value;
    return value === "" ? null : this.model?.labels?.length ? value : Number(value);
  }

  state() {
    const { texts, choices } = this.input();
    return {
      model: this.model?.name ?? "", second: byId("second-pick").hidden ? "" : byId("second").value, texts, choices,
      methods: this.methods.names(), options: this.methods.given(), target: byId("target").value,
      against: byId("against").value, seed: byId("seed").value === "0" ? "" : byId("seed").value,
    };
  }
}
