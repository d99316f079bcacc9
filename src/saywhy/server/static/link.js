// The state of the page in its address, so that it can be sent to somebody.

const SINGLE = ["view", "model", "second", "target", "against", "seed"];

/** What the hash says: model, texts, choices, methods, options, target, against, seed. */
export function readLink(hash = location.hash) {
  const said = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { texts: said.getAll("text"), choices: said.getAll("choice"), methods: said.getAll("method"), options: {} };
  for (const name of SINGLE) state[name] = said.get(name);
  try {
    const options = JSON.parse(said.get("options") ?? "{}");
    if (options && typeof options === "object" && !Array.isArray(options)) state.options = options;
  } catch {
    // A mangled link still restores the rest.
  }
  return state;
}

export function linkOf(state) {
  const said = new URLSearchParams();
  for (const name of SINGLE) if (state[name]) said.set(name, state[name]);
  for (const text of state.texts ?? []) said.append("text", text);
  for (const choice of state.choices ?? []) said.append("choice", choice);
  for (const method of state.methods ?? []) said.append("method", method);
  if (Object.keys(state.options ?? {}).length) said.set("options", JSON.stringify(state.options));
  return `#${said}`;
}

/** Write the state into the address without a new page in the history. */
export function writeLink(state) {
  history.replaceState(null, "", linkOf(state));
}
