// "What if": keep the top k words, or take words away by hand, and ask the model again.

import { post } from "./api.js";
import { debounce, el, fixed, latest, plural, say } from "./dom.js";

let count = 0;

/**
 * A slider and a bar for one explanation.
 *
 * `order` lists the words best first; `whole` is the target's probability on the whole text; `start` where the slider
 * stands; `onChange(removed)` strikes words through; `onSlide(k)` tells the other cards.
 */
export function whatIf({ model, input, order, target, whole, onChange, onSlide }) {
  const id = `keep-${(count += 1)}`;
  const total = order.length;
  const asker = latest();
  let removed = new Set();
  const shown = el("output", { class: "kept", htmlFor: id }, `all ${total}`);
  const slider = el("input", { type: "range", id, min: 0, max: total, step: 1, value: total, class: "slider" });
  const fill = el("span", { class: "fill" });
  const tick = el("span", { class: "tickmark", title: `whole text: ${fixed(whole)}` });
  const now = el("span", { class: "now", "aria-live": "polite" });
  const verdict = el("span", { class: "flip" });
  const reset = el("button", { type: "button", class: "quiet small", disabled: true }, "Reset");
  tick.style.left = `${100 * whole}%`;
  draw(whole, null);

  function draw(probability, label) {
    fill.style.width = `${100 * Math.max(0, Math.min(1, probability))}%`;
    now.replaceChildren(`${target} `, el("b", null, fixed(probability)));
    const turned = label !== null && label !== undefined && label !== target;
    verdict.textContent = turned ? `now ${label}` : "";
  }

  const ask = debounce(60, async () => {
    if (!removed.size) {
      asker.stop();
      draw(whole, null);
      return;
    }
    try {
      const answer = await asker.ask((signal) =>
        post("api/predict", { model, input, remove: [...removed].sort((a, b) => a - b) }, signal));
      if (answer && removed.size) draw(answer.probabilities[target] ?? NaN, answer.label);
    } catch (error) {
      say(error.message, "error");
    }
  });

  function set(next, k) {
    removed = next;
    const left = total - removed.size;
    slider.value = String(k ?? left);
    shown.textContent = removed.size ? `${left} of ${total}` : `all ${total}`;
    slider.setAttribute("aria-valuetext", `${plural(left, "word")} of ${total} kept`);
    reset.disabled = removed.size === 0;
    onChange(removed);
    ask();
  }

  const keep = (k) => set(new Set(order.slice(Math.max(0, Math.min(total, k)))), k);
  slider.addEventListener("input", () => {
    keep(Number(slider.value));
    onSlide?.(Number(slider.value));
  });
  reset.addEventListener("click", () => {
    set(new Set());
    onSlide?.(total);
    slider.focus();
  });

  return {
    node: el("div", { class: "whatif" },
      el("div", { class: "whatif-row" }, el("label", { htmlFor: id }, "Keep the top words"), shown, reset),
      slider,
      el("div", { class: "whatif-row answer" }, now, verdict),
      el("div", { class: "meter", "aria-hidden": "true" }, fill, tick)),
    keep,
    toggle(at) {
      const next = new Set(removed);
      if (!next.delete(at)) next.add(at);
      set(next);
    },
    stop() {
      ask.cancel();
      asker.stop();
    },
  };
}
