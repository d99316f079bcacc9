
(() => {
  "use strict";
  const form = document.getElementById("sheet"), rater = document.getElementById("rater");
  const said = document.getElementById("said"), place = "saywhy-rating-" + form.dataset.sheet;
  const items = [...form.querySelectorAll("fieldset[data-item]")];
  const answer = item => { const made = item.querySelector("input:checked"); return made ? made.value : ""; };
  const count = () => {
    const left = items.filter(item => answer(item) === "").length;
    said.textContent = left ? left + " of " + items.length + " still without an answer" : "all " + items.length + " answered";
  };
  const keep = () => {
    count();
    const state = { rater: rater.value, answers: items.map(item => [item.dataset.item, answer(item)]) };
    try { localStorage.setItem(place, JSON.stringify(state)); } catch { /* some browsers keep nothing for files */ }
  };
  try {
    const state = JSON.parse(localStorage.getItem(place) || "null");
    if (state) {
      rater.value = state.rater;
      for (const [code, value] of state.answers) {
        const found = items.find(item => item.dataset.item === code);
        const input = found && [...found.querySelectorAll("input")].find(one => one.value === value);
        if (input) input.checked = true;
      }
    }
  } catch { /* nothing kept */ }
  form.addEventListener("change", keep);
  form.addEventListener("submit", event => event.preventDefault());
  document.getElementById("save").addEventListener("click", () => {
    if (!rater.value.trim()) { said.textContent = "please give your name or initials first"; rater.focus(); return; }
    const quote = value => '"' + String(value).replaceAll('"', '""') + '"';
    const rows = items.map(item => [form.dataset.sheet, rater.value.trim(), item.dataset.item, answer(item)].map(quote).join(","));
    const file = new Blob(["sheet,rater,item,rating\n" + rows.join("\n") + "\n"], { type: "text/csv" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = "ratings-" + rater.value.trim().replace(/[^\p{L}\p{N}]+/gu, "-") + ".csv";
    document.body.append(link);
    link.click();
    link.remove();
    count();
  });
  document.body.classList.add("scripted");
  count();
})();
