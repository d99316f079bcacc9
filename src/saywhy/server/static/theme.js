// Runs before the first paint, so that a page chosen dark never flashes white.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("saywhy-theme");
  } catch {
    // A browser that keeps nothing follows the system.
  }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
