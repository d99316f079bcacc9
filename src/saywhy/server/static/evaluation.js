// How faithful each method is on this very input, beside random scores.

import { postOrFollow } from "./api.js";
import { byId, el, fixed, plural, replace, say } from "./dom.js";

const METRICS = ["sufficiency", "comprehensiveness"];
const SENTENCES = {
  sufficiency: "how far the most important words alone lead the model to the same answer",
  comprehensiveness: "how much the model’s confidence falls when the most important words are taken away",
};

/** Measure the methods that are shown, and put a table under the cards. */
export async function evaluate(asked, methods) {
  const box = byId("evaluation");
  const button = byId("evaluate");
  box.hidden = false;
  button.disabled = true;
  replace(box, el("h2", null, "Measured on this input"), el("div", { class: "skeleton", "aria-hidden": "true" }, el("i"), el("i")), el("p", { class: "soft small" }));
  try {
    const answer = await postOrFollow("api/evaluate", {
      model: asked.model, input: { texts: asked.texts, choices: asked.choices }, methods, metrics: METRICS, seed: Number(asked.seed) || 0,
    }, { onJob: (job) => replace(box.querySelector(".soft"), `${plural(job.progress?.calls ?? 0, "model call")} so far`) });
    replace(box, el("h2", null, "Measured on this input"), table(answer.rows, answer.metrics ?? {}),
      el("p", { class: "soft small" }, "One input says little about a method in general: ", el("code", null, "saywhy evaluate"), " measures on a whole dataset."),
      (answer.notes ?? []).map((note) => el("p", { class: "soft small" }, note)));
    box.scrollIntoView({ block: "nearest" });
  } catch (error) {
    box.hidden = true;
    say(error.message, "error");
  } finally {
    button.disabled = false;
  }
}

function table(rows, facts) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.metrics)))];
  const lower = new Set(names.filter((name) => facts[name]?.higher_is_better === false));
  const best = Object.fromEntries(names.map((name) => {
    const values = rows.map((row) => row.metrics[name]).filter(Number.isFinite);
    return [name, lower.has(name) ? Math.min(...values) : Math.max(...values)];
  }));
  return el("div", { class: "scroller", role: "region", tabindex: "0", "aria-label": "Metrics of each method" },
    el("table", { class: "metrics" },
      el("caption", { class: "unseen" }, "Metrics of each method beside random scores"),
      el("thead", null, el("tr", null, el("th", { scope: "col" }, "method"),
        names.map((name) => el("th", { scope: "col", title: SENTENCES[name] ?? null }, name, " ",
          el("span", { class: "way", role: "img", "aria-label": lower.has(name) ? "lower is better" : "higher is better" }, lower.has(name) ? "↓" : "↑"))))),
      el("tbody", null, rows.map((row) => el("tr", null, el("th", { scope: "row" }, row.method),
        names.map((name) => {
          const value = row.metrics[name];
          const random = row.random?.[name];
          return el("td", { class: value === best[name] && rows.length > 1 ? "best" : "" }, el("span", { class: "value" }, fixed(value, 3)),
            Number.isFinite(random) ? el("small", null, ` random ${fixed(random, 3)}`) : null);
        }))))));
}
