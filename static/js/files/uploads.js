// Uploads files in parts, a few files at a time. An upload goes on where it stopped, also while another
// chat is shown. Fires `chat:upload` on the document at each change.

import { ask, post, sendParts } from "./requests.js";

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
export async function beginUpload(file, place) {
  const { name, size } = file;
  const fields = { name, size, ...place };
  const answer = await ask("/files/", "POST", new URLSearchParams(fields));
  if (answer.status !== 201) return ["", answer.status === 422 ? await answer.text() : FAILED];
  const { id, part, received } = await answer.json();
  const upload = { file, part, received, problem: "" };
  uploads.set(id, upload);
  navigator.locks?.request(lockOf(id), () => new Promise((resolve) => (upload.end = resolve)));
  startUpload(id);
  return [id];
}

// Held while an upload runs, and released when its tab is closed.
export const lockOf = (id) => `upload:${id}`;

export function startUpload(id) {
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
    upload.problem = await sendParts(`/files/${id}/part/`, upload, {
      signal: upload.abort.signal,
      progress: announceUpload,
      unreadable: UNREADABLE,
      removed: "", // in another tab
      failed: FAILED,
    });
  } catch (error) {
    upload.problem = error.name === "AbortError" ? "" : FAILED;
  }
  if (!upload.problem) drop(id);
}

function drop(id) {
  uploads.get(id)?.end?.();
  uploads.delete(id);
}

// Removes a file from its draft, also one that is being uploaded. Returns a sentence if that failed.
export async function removeUpload(id) {
  uploads.get(id)?.abort.abort();
  drop(id);
  return post(`/files/${id}/remove/`);
}

// Shows in a chip why its upload failed, if it did, and of the chip's buttons those that help.
export function showProblem(chip, problem, canRetry) {
  const remove = chip.querySelector("[data-removes]");
  chip.dataset.state = problem ? "failed" : "uploading";
  chip.querySelector(".chip-problem").textContent = problem;
  chip.querySelector("[data-retries]").hidden = !canRetry;
  remove.title = problem ? "Remove" : "Cancel";
  remove.setAttribute("aria-label", `${remove.title} ${chip.querySelector(".chip-name").textContent}`);
}
