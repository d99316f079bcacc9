// The page: which view is open, what is in it, and what the address says.

import { get } from "./api.js";
import { Comparison } from "./compare.js";
import { Composer } from "./composer.js";
import { byId, el, hush, replace, say } from "./dom.js";
import { evaluate } from "./evaluation.js";
import { Examples } from "./examples.js";
import { Explanations } from "./explain.js";
import { save } from "./exports.js";
import { readLink, writeLink } from "./link.js";
import { showReports } from "./reports.js";
import { turn } from "./turning.js";

const VIEWS = ["explain", "compare", "reports"];
const EXPLAIN = ["Explain ", "Compare "];
let view = "explain";
let restored = false;

const composer = new Composer({ onChange: changed, onSubmit: submit });
const explanations = new Explanations(composer);
const comparison = new Comparison(composer);
const examples = new Examples(composer);

function changed() {
  if (!restored) return;
  examples.offer();
  explanations.compareWithInput();
  if (view === "explain") explanations.glance();
}

async function submit() {
  hush();
  const missing = composer.missing();
  if (missing) {
    say(missing.message ?? missing, "error");
    if (missing.field) byId(missing.field)?.focus();
    return;
  }
  remember();
  if (view === "compare") await comparison.run();
  else await explanations.run();
}

function remember() {
  writeLink({ ...composer.state(), view: view === "explain" ? "" : view });
}

function open(next) {
  view = VIEWS.includes(next) ? next : "explain";
  for (const name of VIEWS) byId(`view-${name}`).hidden = name !== view;
  for (const button of document.querySelectorAll("[data-view]")) {
    if (button.dataset.view === view) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  const two = view === "compare";
  byId("composer").hidden = view === "reports";
  byId("second-pick").hidden = !two;
  replace(byId("model-name"), two ? "Compare" : "Model");
  byId("model-facts").hidden = two;
  byId("explain").firstChild.textContent = EXPLAIN[Number(two)];
  composer.methods.single = two;
  composer.methods.draw();
  if (view === "reports") showReports();
}

function wire() {
  for (const button of document.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => {
      open(button.dataset.view);
      if (view === "reports") writeLink({ view });
      else remember();
      changed();
    });
  }
  for (const button of document.querySelectorAll("[data-export]")) {
    button.addEventListener("click", () => {
      const told = explanations.cards.filter((card) => card.explanation).map((card) => card.told);
      save(button.dataset.export, explanations.done(), explanations.asked?.model ?? "model", told);
    });
  }
  byId("evaluate").addEventListener("click", () => {
    const methods = explanations.cards.filter((card) => card.explanation).map((card) => card.explanation.header.method);
    if (methods.length) evaluate(explanations.asked, [...new Set(methods)]);
    else say("There is nothing to measure yet.", "error");
  });
  byId("turn").addEventListener("click", () => {
    if (explanations.asked) turn(explanations.asked);
  });
  byId("copy-link").addEventListener("click", copyLink);
  byId("alert-close").addEventListener("click", hush);
  byId("theme").addEventListener("click", flipTheme);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("content").focus();
  });
  window.addEventListener("hashchange", () => restore());
  drawTheme();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawTheme);
}

async function copyLink() {
  remember();
  try {
    await navigator.clipboard.writeText(location.href);
    say("Link copied");
  } catch {
    say("The link is in the address bar");
  }
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function drawTheme() {
  byId("theme").setAttribute("aria-label", isDark() ? "Change to light" : "Change to dark");
}

function flipTheme() {
  const next = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem("saywhy-theme", next);
  } catch {
    // The choice lasts as long as the page.
  }
  drawTheme();
}

/** What the address says; short methods run at once, slow ones wait for a click. */
async function restore(first = false) {
  const state = readLink();
  open(state.view ?? "explain");
  if (!first) await composer.restore(state);
  if (!state.texts.some((text) => text.trim()) || view === "reports" || composer.missing()) return;
  if (composer.methods.names().some((name) => composer.methods.isLong(name))) return;
  if (view === "compare") await comparison.run();
  else await explanations.run();
}

async function start() {
  wire();
  let models = [];
  try {
    ({ models } = await get("api/models"));
  } catch (error) {
    const lost = error.kind === "unauthorised"
      ? "This server wants a token: open the address that `saywhy serve` printed."
      : error.message;
    say(lost, "error");
    replace(byId("model"), el("option", null, "no model"));
    return;
  }
  await composer.start(models, readLink());
  document.querySelector("[data-view='compare']").hidden = new Set(models.map((model) => model.task)).size === models.length;
  restored = true;
  changed();
  explanations.suggestions = () => examples.suggestions(changed);
  examples.start().then(changed);
  await restore(true);
  document.documentElement.dataset.ready = "true";
}

start();
