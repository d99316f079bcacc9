// The fewest words without which the model would say something else.

import { postOrFollow } from "./api.js";
import { byId, el, fixed, plural, replace, say } from "./dom.js";

/** Search for the smallest change of the input, and show it under the cards. */
export async function turn(asked) {
  const box = byId("turning");
  const button = byId("turn");
  const heading = el("h2", null, "What would turn the answer");
  box.hidden = false;
  button.disabled = true;
  replace(box, heading, el("div", { class: "skeleton", "aria-hidden": "true" }, el("i"), el("i")), el("p", { class: "soft small" }));
  try {
    const found = await postOrFollow("api/counterfactual", {
      model: asked.model, input: { texts: asked.texts, choices: asked.choices },
    }, { onJob: (job) => replace(box.querySelector(".soft"), `${plural(job.progress?.calls ?? 0, "model call")} so far`) });
    replace(box, heading, found.flipped ? turned(found) : unturned(found), (found.notes ?? []).map((note) => el("p", { class: "soft small" }, note)));
    box.scrollIntoView({ block: "nearest" });
  } catch (error) {
    box.hidden = true;
    say(error.message, "error");
  } finally {
    button.disabled = false;
  }
}

const answer = (label, probability) => [el("strong", null, el("bdi", null, label)), ` (${fixed(probability)})`];

function unturned(found) {
  return el("p", null, found.smallest ? "Taking words away never turns " : `None of ${plural(found.asked, "change")} that were tried turns `,
    answer(found.label, found.probability), ".");
}

function turned(found) {
  const fields = [...found.texts, ...found.choices];
  const touched = [...new Set(found.changes.map((change) => change.word.field))].sort((a, b) => a - b);
  return [
    el("p", null, "Without the struck-out ", found.changes.length === 1 ? "word" : "words", " the model says ",
      answer(found.new_label, found.new_probability), " and no longer ", answer(found.label, found.probability), "."),
    touched.map((field) => el("p", { class: "turned", dir: "auto" }, edited(fields[field], found.changes.filter((change) => change.word.field === field)))),
    found.changes.length > 1
      ? el("ul", { class: "soft small" }, found.changes.map((change) => el("li", null, "with ", el("bdi", null, change.word.text), " put back: ",
        el("bdi", null, found.label), ` ${fixed(change.without)}`)))
      : null,
    el("p", { class: "soft small" }, found.smallest ? "No smaller change does it. " : "A smaller change may exist. ", `${plural(found.asked, "changed input")} tried.`),
  ];
}

/** A text with its changed words struck out, and what stands for them. Places count characters, not UTF-16 units. */
function edited(text, changes) {
  const characters = Array.from(text);
  const parts = [];
  let place = 0;
  for (const { word, replacement } of [...changes].sort((a, b) => a.word.start - b.word.start)) {
    parts.push(characters.slice(place, word.start).join(""), el("del", null, characters.slice(word.start, word.end).join("")));
    if (replacement) parts.push(" ", el("ins", null, replacement));
    place = word.end;
  }
  return [...parts, characters.slice(place).join("")];
}
