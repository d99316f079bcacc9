// A drawer of examples from the datasets this server can read.

import { get } from "./api.js";
import { byId, el, replace, say } from "./dom.js";
import { segments } from "./words.js";

const PAGE = 20;
const SHORT = 160;
const LOOKED = 6;

export class Examples {
  constructor(composer) {
    this.composer = composer;
    this.datasets = [];
    this.short = new Map();
    this.offset = 0;
    this.total = 0;
    this.more = false;
    this.drawer = byId("examples");
    byId("examples-open").addEventListener("click", () => this.open());
    byId("examples-close").addEventListener("click", () => this.drawer.close());
    this.drawer.addEventListener("click", (event) => {
      if (event.target === this.drawer) this.drawer.close();
    });
    byId("dataset").addEventListener("change", () => this.pick());
    byId("split").addEventListener("change", () => this.load(0));
    byId("rows-back").addEventListener("click", () => this.load(Math.max(0, this.offset - PAGE)));
    byId("rows-next").addEventListener("click", () => this.load(this.offset + PAGE));
  }

  async start() {
    try {
      this.datasets = (await get("api/datasets")).datasets;
    } catch (error) {
      say(error.message, "error");
    }
    this.offer();
  }

  /** A few short examples to begin with, as buttons; read once for each model. */
  suggestions(onReady) {
    const model = this.composer.model?.name;
    const fitting = this.fitting();
    if (!fitting.length) return null;
    if (!this.short.has(model)) {
      this.short.set(model, []);
      this.readShort(fitting.slice(0, LOOKED)).then((rows) => {
        this.short.set(model, rows);
        if (rows.length) onReady();
      });
    }
    const rows = this.short.get(model);
    return rows.length ? el("ul", { class: "suggestions", "aria-label": "Examples to begin with" }, rows.map((row) => this.row(row))) : null;
  }

  async readShort(datasets) {
    const size = ({ input }) => [...input.texts, ...(input.choices ?? [])].join("").length;
    for (const { name, splits } of datasets) {
      // A small file may have no rows in the split that is read first.
      for (const split of splits.includes("all") ? ["", "&split=all"] : [""]) {
        try {
          const { rows } = await get(`api/datasets/${encodeURIComponent(name)}?limit=${2 * PAGE}${split}`);
          const short = rows.filter((row) => size(row) <= SHORT).slice(0, 3);
          if (short.length) return short;
          if (rows.length) break;
        } catch {
          break;
        }
      }
    }
    return [];
  }

  /** Datasets of the model's task; one that the model is named after comes first. */
  fitting() {
    const { task, name = "" } = this.composer.model ?? {};
    const kin = (dataset) => Number(name.toLowerCase().includes(dataset.name.toLowerCase()));
    return this.datasets.filter((dataset) => dataset.task === task).sort((a, b) => kin(b) - kin(a));
  }

  offer() {
    byId("examples-open").hidden = this.fitting().length === 0;
  }

  open() {
    const before = byId("dataset").value;
    const fitting = this.fitting();
    replace(byId("dataset"), fitting.map((dataset) => el("option", { value: dataset.name }, dataset.name)));
    if (fitting.some((dataset) => dataset.name === before)) byId("dataset").value = before;
    this.drawer.showModal();
    this.pick();
  }

  async pick() {
    const dataset = this.datasets.find((other) => other.name === byId("dataset").value);
    const splits = dataset?.splits ?? [];
    replace(byId("split"), splits.map((split) => el("option", { value: split }, split)));
    // What no model was trained on first; a small file may have no such rows.
    const order = ["test", "dev", "validation", "all", ...splits].filter((split) => splits.includes(split));
    for (const split of order) {
      byId("split").value = split;
      await this.load(0);
      if (this.total || byId("dataset").value !== dataset.name || byId("split").value !== split) return;
    }
  }

  async load(offset) {
    const name = byId("dataset").value;
    const split = byId("split").value;
    if (!name) return;
    const rows = byId("rows");
    rows.setAttribute("aria-busy", "true");
    try {
      const answer = await get(`api/datasets/${encodeURIComponent(name)}?split=${encodeURIComponent(split)}&offset=${offset}&limit=${PAGE}`);
      if (name !== byId("dataset").value || split !== byId("split").value) return;
      this.offset = offset;
      this.total = answer.total ?? answer.seen ?? offset + answer.rows.length;
      // Of a large dataset only the first rows can be seen.
      this.more = answer.total === null;
      replace(rows, answer.rows.map((row) => this.row(row)));
      rows.scrollTop = 0;
    } catch (error) {
      replace(rows, el("li", { class: "failed" }, error.message));
    } finally {
      rows.setAttribute("aria-busy", "false");
    }
    const last = Math.min(this.offset + PAGE, this.total);
    replace(byId("rows-place"), this.total ? `${this.offset + 1}–${last} of ${this.total}${this.more ? "+" : ""}` : "no rows");
    byId("rows-back").disabled = this.offset === 0;
    byId("rows-next").disabled = last >= this.total;
  }

  row(row) {
    const { texts, choices = [] } = row.input;
    const spans = (row.rationale_spans ?? []).map(([field, start, end]) => ({ field, start, end }));
    const line = (text, field) => el("span", { class: "row-text", dir: "auto" },
      segments(text, field, spans).map((part) => (part.at === null ? part.text : el("mark", null, part.text))));
    const use = () => {
      if (this.drawer.open) this.drawer.close();
      this.composer.use(row.input);
      byId("text-0").focus();
    };
    return el("li", null, el("button", { type: "button", class: "row", on: { click: use } },
      texts.map(line), choices.map((choice, i) => el("span", { class: "row-choice" }, `${i + 1}. `, line(choice, texts.length + i))),
      row.label === null || row.label === undefined ? null : el("span", { class: "tag" }, labelOf(row.label, choices))));
  }
}

function labelOf(label, choices) {
  return choices.length && Number.isInteger(label) ? `choice ${label + 1}` : String(label);
}
