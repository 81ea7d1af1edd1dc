// Holds a prompt back until its files have been uploaded and read, then sends it by itself. Send or
// Escape cancels that. A file that failed, or files that are too much for the model, keep it back.

import { announce } from "../page/announcements.js";
import { chips, nameOf } from "./attachments.js";
import { form } from "../composer/message-box.js";
import { conversation, say } from "../page/state.js";

const arriving = new Set(); // {conversation, count, end()}: files that are being announced
let isWaiting = false;

// Makes prompts wait until these files have chips; `count` says how many have not been announced yet.
export function arrive(count) {
  const files = { conversation: conversation(), count };
  files.end = () => {
    arriving.delete(files);
    settle();
  };
  arriving.add(files);
  return files;
}

const arrivingHere = () => [...arriving].filter((files) => files.conversation === conversation());
const unreadChips = () => chips().filter(({ dataset }) => ["uploading", "reading"].includes(dataset.state));

export const awaitsFiles = () => arrivingHere().length + unreadChips().length > 0;

function problem() {
  const failed = chips().filter(({ dataset }) => dataset.state === "failed");
  if (failed.length) return `${failedWords(failed)}, then send.`;
  return document.getElementById("files-cost").dataset.refuses ?? "";
}

function failedWords(failed) {
  const canRetry = failed.some((chip) => chip.querySelector("[data-retries]:not([hidden])"));
  const [files, them] = failed.length === 1 ? [`“${nameOf(failed[0])}”`, "it"] : [`${failed.length} files`, "them"];
  return `${files} can't be sent. Remove ${them}${canRetry ? " or try again" : ""}`;
}

// Whether the prompt can't be sent now. If it only has to wait, sends it later.
export function holdsBack() {
  if (isWaiting) cancel();
  else if (problem()) say(problem());
  else if (awaitsFiles()) isWaiting = true;
  else return false;
  show();
  return true;
}

function show() {
  const line = document.getElementById("files-waiting");
  const count = arrivingHere().reduce((sum, files) => sum + files.count, unreadChips().length) || 1;
  line.hidden = !isWaiting;
  const files = count === 1 ? "1 file" : `${count} files`;
  line.firstElementChild.textContent = isWaiting ? `Waiting for ${files}…` : "";
}

function cancel() {
  isWaiting = false;
  show();
  announce("Not sent. Your message is still here.");
}

function settle() {
  show();
  if (!isWaiting || (awaitsFiles() && !problem())) return;
  isWaiting = false;
  form().requestSubmit();
}

document.addEventListener("chat:files", settle);
document.addEventListener("chat:shown", () => (isWaiting = false));
document.addEventListener("click", ({ target }) => {
  if (isWaiting && target.closest?.(".files-waiting button")) cancel();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !isWaiting || document.querySelector(":modal, :popover-open")) return;
  event.preventDefault();
  cancel();
}, true);
