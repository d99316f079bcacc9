// Which methods explain: chips for those in use, a panel with all of them, and their options.

import { byId, el, replace } from "./dom.js";

const MOST = 6;

/** The choice of methods for one model at a time; `onChange` hears of every change. */
export class MethodPicker {
  constructor(onChange) {
    this.onChange = onChange;
    this.known = [];
    this.offered = [];
    this.chosen = [];
    this.options = {};
    this.single = false;
    this.open = false;
  }

  /** Methods of another model; what was chosen stays where the model can do it. */
  load(known, defaults) {
    this.known = known;
    const usable = new Set(known.filter((method) => method.usable).map((method) => method.name));
    this.offered = defaults.filter((name) => usable.has(name));
    const kept = this.chosen.filter((name) => usable.has(name));
    this.chosen = kept.length ? kept : this.offered.slice(0, 3);
    if (!this.chosen.length) this.chosen = [...usable].slice(0, 1);
    this.draw();
  }

  names() {
    return this.single ? this.chosen.slice(0, 1) : [...this.chosen];
  }

  summary(name) {
    return this.known.find((method) => method.name === name)?.summary ?? "";
  }

  isLong(name) {
    return Boolean(this.known.find((method) => method.name === name)?.long);
  }

  /** Options that differ from the defaults, for the methods in use. */
  given() {
    const used = {};
    for (const name of this.names()) {
      const set = this.options[name];
      if (set && Object.keys(set).length) used[name] = { ...set };
    }
    return used;
  }

  toggle(name) {
    if (this.single) this.chosen = [name];
    else if (this.chosen.includes(name)) this.chosen = this.chosen.filter((other) => other !== name);
    else this.chosen = [...this.chosen, name].slice(-MOST);
    this.draw();
    this.onChange();
  }

  draw() {
    const active = document.activeElement?.dataset?.method;
    const shown = [...new Set([...this.offered, ...this.chosen])];
    const inUse = this.names();
    const chips = shown.map((name) => el("button", {
      type: "button", class: "chip", "aria-pressed": String(inUse.includes(name)), title: this.summary(name) || null,
      data: { method: name }, on: { click: () => this.toggle(name) },
    }, name));
    const more = el("button", {
      type: "button", class: "quiet more-methods", "aria-expanded": String(this.open), "aria-controls": "all-methods",
      data: { method: "*" }, on: { click: () => { this.open = !this.open; this.draw(); } },
    }, this.open ? "Fewer methods" : "All methods");
    replace(byId("chips"), chips, this.known.length ? more : null);
    this.drawAll(inUse);
    this.drawOptions(inUse);
    if (active) document.querySelector(`.chips [data-method="${CSS.escape(active)}"]`)?.focus();
  }

  drawAll(inUse) {
    const panel = byId("all-methods");
    panel.hidden = !this.open;
    if (!this.open) return;
    const focused = document.activeElement?.id;
    const families = [...new Set(this.known.map((method) => method.family || "other"))];
    replace(panel, families.map((family) => el("fieldset", null, el("legend", null, family),
      this.known.filter((method) => (method.family || "other") === family).map((method) => {
        const id = `method-${method.name}`;
        return el("label", { class: `method ${method.usable ? "" : "off"}`, htmlFor: id },
          el("input", {
            type: this.single ? "radio" : "checkbox", name: "method", id, checked: inUse.includes(method.name),
            disabled: !method.usable, on: { change: () => this.toggle(method.name) },
          }),
          el("span", null, el("b", null, method.name), method.long ? el("small", { class: "tag" }, "slow") : null,
            el("small", null, method.usable ? method.summary : reason(method))));
      }))));
    if (focused?.startsWith("method-")) byId(focused)?.focus();
  }

  drawOptions(inUse) {
    const box = byId("options");
    if (box.contains(document.activeElement)) return;
    replace(box, inUse.map((name) => {
      const options = this.known.find((method) => method.name === name)?.options ?? [];
      if (!options.length) return null;
      return el("fieldset", null, el("legend", null, name), options.map((option) => this.optionField(name, option)));
    }));
  }

  optionField(method, option) {
    const id = `option-${method}-${option.name}`;
    const value = this.options[method]?.[option.name];
    const set = (next) => {
      const mine = { ...this.options[method] };
      if (next === undefined) delete mine[option.name];
      else mine[option.name] = next;
      this.options = { ...this.options, [method]: mine };
      this.onChange();
    };
    const usual = option.default === null || option.default === undefined ? "by itself" : String(option.default);
    const list = option.choices ?? (option.type === "bool" ? ["true", "false"] : null);
    let input;
    if (list) {
      const read = (text) => (text === "" ? undefined : option.type === "bool" ? text === "true" : text);
      input = el("select", { id, on: { change: (event) => set(read(event.target.value)) } },
        el("option", { value: "" }, `${usual} (default)`),
        list.filter((choice) => String(choice) !== usual).map((choice) => el("option", { value: String(choice) }, String(choice))));
      input.value = value === undefined ? "" : String(value);
    } else {
      const isNumber = option.type === "int" || option.type === "float";
      input = el("input", {
        id, type: isNumber ? "number" : "text", step: option.type === "int" ? "1" : "any", placeholder: usual,
        value: value === undefined ? "" : String(value),
        on: { change: (event) => set(event.target.value === "" ? undefined : isNumber ? Number(event.target.value) : event.target.value) },
      });
    }
    return el("label", { class: "option", htmlFor: id, title: option.help || null }, el("span", null, option.name), input);
  }
}

/** Why a method cannot be used, without the list of those that can: they are on the same panel. */
function reason({ why_not: said }) {
  return (said ?? "does not suit this model").split(/; these would do|; use /)[0].replace(/^method '[^']*' /, "");
}
