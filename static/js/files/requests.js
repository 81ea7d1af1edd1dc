// Requests about files. They wait while the network is lost, the server is down or has had too many
// requests, and then go on. A sign-out ends them, and fires `chat:signed-out` on the document. A file is
// sent in parts, each with its offset, so that an upload goes on where it stopped.

const FIRST = 500, LONGEST = 30_000; // ms between tries
const MAX_FAILURES = 5; // answers of a server that fails

const token = () => document.querySelector("[name=csrfmiddlewaretoken]").value;

// Returns the response: a success, or a refusal, whose body is a sentence. Throws if there is none.
export async function ask(url, method, body, { headers, signal } = {}) {
  for (let tries = 0, failures = 0; ; tries += 1) {
    const options = { method, body, signal, redirect: "manual" };
    options.headers = { "X-CSRFToken": token(), "HX-Request": "true", ...headers };
    const answer = await fetch(url, options).catch((error) => throwIfAborted(error));
    if (answer?.type === "opaqueredirect") throw announceSignedOut();
    if (answer?.status >= 500 && answer.status !== 507 && (failures += 1) === MAX_FAILURES) throw new Error(url);
    if (answer && answer.status !== 429 && (answer.status < 500 || answer.status === 507)) return answer;
    const retryAfter = Number(answer?.headers.get("Retry-After") ?? 0) * 1000;
    await pause(retryAfter || Math.min(FIRST * 2 ** tries, LONGEST), signal);
  }
}

function throwIfAborted(error) {
  if (error.name === "AbortError") throw error;
}

function announceSignedOut() {
  document.dispatchEvent(new Event("chat:signed-out"));
  return new Error("signed out");
}

function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, ms);
    addEventListener("online", resolve, { once: true });
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

// Returns a sentence that says why the request was refused, or an empty string.
export async function post(url, fields = {}) {
  const body = new FormData(); // a long text would grow in a URL's encoding
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  const answer = await ask(url, "POST", body).catch(() => null);
  if (answer?.ok) return "";
  return answer?.status === 422 || answer?.status === 507 ? answer.text() : FAILED[answer?.status] ?? FAILED.other;
}

const FAILED = {
  404: "This file is no longer in the draft.",
  413: "This text is too long to be saved here.",
  other: "That didn't work. Nothing was changed. Try again in a moment.",
};

// Sends what is left of a file: `upload` has the file, the size of a part and how much was received.
// Returns a sentence if it can't be sent: one of those given, or the server's.
export async function sendParts(url, upload, { signal, progress, unreadable, removed, failed }) {
  const { file, part } = upload;
  while (upload.received < file.size) {
    const body = await file.slice(upload.received, upload.received + part).arrayBuffer().catch(() => null);
    if (!body) return unreadable;
    const headers = { "Upload-Offset": upload.received, "Content-Type": "application/octet-stream" };
    const answer = await ask(url, "PATCH", body, { headers, signal });
    if (answer.status === 404) return removed;
    if (![200, 409].includes(answer.status)) return answer.status === 507 ? answer.text() : failed;
    upload.received = (await answer.json()).received;
    progress();
  }
  return "";
}
