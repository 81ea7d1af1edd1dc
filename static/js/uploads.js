// Uploads files in parts, a few files at a time. An upload goes on where it stopped, also while another
// chat is shown. Fires `chat:upload` on the document at each change.

import { ask, post } from "./file-requests.js";

const AT_ONCE = 3;
const UNREADABLE = "The browser can't read this file any more. Remove it and attach it again.";
const FAILED = "The server could not take this file. Try again in a while.";

export const uploads = new Map(); // id → {file, part, received, problem, abort, end}
const queue = [];
let running = 0;

// Whether a failed upload may succeed when it is tried again.
export const canRetry = ({ problem }) => problem !== UNREADABLE;

const announceUpload = () => document.dispatchEvent(new Event("chat:upload"));

// Announces a file and uploads it. `place` says which draft it is for, and which upload it may resume.
// Returns its id as soon as the server knows it, or ["", a refusal].
export async function begin(file, place) {
  const { name, size } = file;
  const fields = { name, size, ...place };
  const answer = await ask("/files/", "POST", new URLSearchParams(fields));
  if (answer.status !== 201) return ["", answer.status === 422 ? await answer.text() : FAILED];
  const { id, part, received } = await answer.json();
  const upload = { file, part, received, problem: "" };
  uploads.set(id, upload);
  navigator.locks?.request(lockOf(id), () => new Promise((resolve) => (upload.end = resolve)));
  start(id);
  return [id];
}

// Held while an upload runs, and released when its tab is closed.
export const lockOf = (id) => `upload:${id}`;

export function start(id) {
  Object.assign(uploads.get(id), { problem: "", abort: new AbortController() });
  queue.push(id);
  next();
}

function next() {
  announceUpload();
  if (!queue.length || running === AT_ONCE) return;
  running += 1;
  run(queue.shift()).finally(() => {
    running -= 1;
    next();
  });
}

async function run(id) {
  const upload = uploads.get(id);
  if (!upload) return; // cancelled
  try {
    upload.problem = await send(id, upload);
  } catch (error) {
    upload.problem = error.name === "AbortError" ? "" : FAILED;
  }
  if (!upload.problem) drop(id);
}

// Sends what is left of the file. Returns a sentence if it can't be sent.
async function send(id, upload) {
  const { file, part, abort: { signal } } = upload;
  while (upload.received < file.size) {
    const body = await file.slice(upload.received, upload.received + part).arrayBuffer().catch(() => null);
    if (!body) return UNREADABLE;
    const headers = { "Upload-Offset": upload.received, "Content-Type": "application/octet-stream" };
    const answer = await ask(`/files/${id}/part/`, "PATCH", body, { headers, signal });
    if (answer.status === 404) break; // it was removed in another tab
    if (![200, 409].includes(answer.status)) return answer.status < 500 ? FAILED : answer.text();
    upload.received = (await answer.json()).received;
    announceUpload();
  }
  return "";
}

function drop(id) {
  uploads.get(id)?.end?.();
  uploads.delete(id);
}

// Removes a file from its draft, also one that is being uploaded. Returns a sentence if that failed.
export async function remove(id) {
  uploads.get(id)?.abort.abort();
  drop(id);
  return post(`/files/${id}/remove/`);
}
