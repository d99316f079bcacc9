// The server's answers, and its errors as one kind of exception. A token, where one is needed, is a cookie.

/** What went wrong, in words for people. */
export class ApiError extends Error {
  constructor(message, kind = "internal", field = null, status = 0) {
    super(message);
    this.name = "ApiError";
    this.kind = kind;
    this.field = field;
    this.status = status;
  }
}

async function ask(path, init = {}) {
  let answer;
  try {
    answer = await fetch(path, { credentials: "same-origin", ...init });
  } catch (error) {
    if (error?.name === "AbortError") throw error;
    throw new ApiError("The server does not answer. Is `saywhy serve` still running?", "offline");
  }
  if (answer.ok) return answer;
  let said = null;
  try {
    said = (await answer.json()).error;
  } catch {
    // Not JSON: a proxy's page, or an empty body.
  }
  throw new ApiError(
    said?.message ?? `The server answered ${answer.status} ${answer.statusText}`.trim(),
    said?.kind ?? "internal",
    said?.field ?? null,
    answer.status,
  );
}

export async function get(path, signal) {
  return (await ask(path, { signal })).json();
}

function posted(body, signal) {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
}

export async function post(path, body, signal) {
  return (await ask(path, posted(body, signal))).json();
}

export async function postForBlob(path, body) {
  return (await ask(path, posted(body))).blob();
}

/** Post, and where the server makes it a job, follow that to its end; `onJob` hears of every step. */
export async function postOrFollow(path, body, { signal, onJob }) {
  const answer = await post(path, body, signal);
  if (!answer.job) return answer;
  onJob(answer.job);
  const job = await follow(answer.job, { signal, onJob });
  if (job.state === "done") return job.result;
  if (job.state === "cancelled") throw new ApiError("Cancelled.", "cancelled");
  throw new ApiError(job.error?.message ?? "The job failed.", job.error?.kind ?? "internal", job.error?.field ?? null);
}

export async function cancel(id) {
  return (await ask(`api/jobs/${encodeURIComponent(id)}`, { method: "DELETE" })).json();
}

const OVER = new Set(["done", "failed", "cancelled"]);

/** Read a job's event stream with fetch, which can be aborted and says why it failed; poll where the stream breaks. */
async function follow(job, { signal, onJob }) {
  const path = `api/jobs/${encodeURIComponent(job.id)}`;
  try {
    const stream = (await ask(`${path}/events`, { signal, headers: { Accept: "text/event-stream" } })).body;
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const events = (rest + value).split(/\r?\n\r?\n/);
      rest = events.pop();
      for (const event of events) {
        const data = event
          .split(/\r?\n/)
          .filter((line) => line.startsWith("data:"))
          .map((line) => line.slice(5).trimStart())
          .join("\n");
        if (!data) continue;
        const said = JSON.parse(data);
        job = said.job ?? said;
        onJob(job);
        if (OVER.has(job.state)) break;
      }
      if (OVER.has(job.state)) {
        reader.cancel().catch(() => {});
        break;
      }
    }
  } catch (error) {
    if (error?.name === "AbortError" || error instanceof ApiError) throw error;
  }
  while (!OVER.has(job.state) || (job.state === "done" && !job.result)) {
    job = (await get(path, signal)).job;
    onJob(job);
    if (!OVER.has(job.state)) await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return job;
}
