// Uploads the files of an export in parts. An upload that stopped goes on when the same files are chosen.

import { ask, sendParts } from "../files/requests.js";

const UNREADABLE = "The browser can't read this file any more. Choose it again.";
const STOPPED = "You have stopped the upload. Choose Upload to go on where it stopped.";
const FAILED = "The upload has stopped. Choose the same files again: it goes on where it stopped.";

const form = document.getElementById("import-upload");
const [submit, stop] = form.querySelectorAll(".actions button");
const progressPlace = document.getElementById("import-uploading");
const problem = form.querySelector("[role=alert]");
const status = form.querySelector("[role=status]");
let abort = null;

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const files = [...form.querySelector("[type=file]").files];
  if (!files.length || abort) return;
  abort = new AbortController();
  show(true);
  const sentence = await upload(files, abort.signal).catch((error) => (error.name === "AbortError" ? STOPPED : FAILED));
  abort = null;
  show(false);
  problem.textContent = sentence;
  problem.hidden = !sentence;
});

stop.addEventListener("click", () => abort?.abort());
addEventListener("beforeunload", (event) => abort && event.preventDefault());

// Returns a sentence if it failed; otherwise the page of the import is opened.
async function upload(files, signal) {
  const fields = new URLSearchParams(files.flatMap(({ name, size }) => [["name", name], ["size", size]]));
  const begun = await ask(form.action, "POST", fields, { signal });
  if (begun.status !== 201) return begun.status === 422 ? begun.text() : FAILED;
  const { batch, part, files: announcedFiles } = await begun.json();
  const uploads = announcedFiles.map(({ id, index, received }) => ({ id, file: files[index], part, received }));
  const total = files.reduce((sum, { size }) => sum + size, 0);
  const progress = () => draw(uploads.reduce((sum, { received }) => sum + received, 0) / total);
  const options = { signal, progress, unreadable: UNREADABLE, removed: FAILED, failed: FAILED };
  for (const upload of uploads) {
    const sentence = await sendParts(`/imports/files/${upload.id}/part/`, upload, options);
    if (sentence) return sentence;
  }
  const answer = await ask(`/imports/read/${batch}/`, "POST", null, { signal });
  if (answer.status !== 201) return answer.status === 422 ? answer.text() : FAILED;
  abort = null;
  location.assign((await answer.json()).url);
  return "";
}

function draw(share) {
  const percent = Math.floor(100 * share);
  progressPlace.querySelector("progress").value = percent;
  progressPlace.querySelector(".job-percent").textContent = `${percent}%`;
  const news = percent - (percent % 25);
  if (news && status.dataset.said !== `${news}`) {
    status.dataset.said = news;
    status.textContent = `${news} percent uploaded`;
  }
}

function show(isUploading) {
  const hadFocus = document.activeElement === (isUploading ? submit : stop);
  progressPlace.hidden = stop.hidden = !isUploading;
  submit.hidden = isUploading;
  if (hadFocus) (isUploading ? stop : submit).focus(); // a hidden button loses the focus
  if (isUploading) problem.hidden = true;
}
