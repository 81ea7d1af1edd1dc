// Shows in the chips of a draft how far the uploads of this tab are, and which ones no tab runs any more.
// Tells screen readers when files were attached, are ready or have failed.

import { announce } from "../page/announcements.js";
import { chips, nameOf } from "./attachments.js";
import { canRetry, lockOf, showProblem, uploads } from "./uploads.js";

// ---- announcements

const SAID = { added: "attached", ready: "ready to be sent", failed: "failed" };

const place = () => document.getElementById("draft-files"); // another element in another chat
const states = () => new Map(chips().map(({ dataset }) => [dataset.file, dataset.state]));

let lastStates = states(); // by id
let lastPlace = place();

function announceChanges() {
  if (place() === lastPlace) tell();
  lastStates = states();
  lastPlace = place();
}

function tell() {
  const sentences = Object.entries(SAID).map(([news, words]) => {
    const those = chips().filter((chip) => newsOf(chip) === news);
    if (those.length > 3) return `${those.length} files ${words}.`;
    return those.map((chip) => `${nameOf(chip)} ${words}. ${problemOf(chip)}`.trim()).join(" ");
  });
  const text = sentences.filter(Boolean).join(" ");
  if (text) announce(text);
}

function newsOf({ dataset: { file, state } }) {
  if (!lastStates.has(file)) return "added";
  return lastStates.get(file) === state ? "" : state;
}

const problemOf = (chip) =>
  chip.dataset.state === "failed" ? chip.querySelector(".chip-problem").textContent : "";

document.addEventListener("chat:files", announceChanges);
announceChanges();

// ---- progress

const INTERRUPTED = "The upload was interrupted. Attach the file again to go on.";
const SOON = 1000; // ms; by then, the tab that began an upload holds its lock

const orphans = new Set(); // ids of uploads that no tab runs

function drawProgress() {
  let isChanged = false;
  for (const chip of chips().filter((one) => one.querySelector("progress"))) {
    const { file: id, state } = chip.dataset;
    const upload = uploads.get(id);
    const isOrphan = !upload && orphans.has(id);
    if (upload) chip.querySelector("progress").value = upload.received;
    if (!upload && !isOrphan) checkOrphan(id);
    chip.toggleAttribute("data-orphan", isOrphan);
    const problem = upload?.problem || (isOrphan ? INTERRUPTED : "");
    showProblem(chip, problem, Boolean(upload?.problem) && canRetry(upload));
    isChanged ||= chip.dataset.state !== state;
  }
  if (isChanged) document.dispatchEvent(new Event("chat:files"));
}

const checkingIds = new Set(); // ids that are being checked

function checkOrphan(id) {
  if (checkingIds.has(id)) return;
  checkingIds.add(id);
  setTimeout(async () => {
    // Browsers have locks in secure contexts only. Elsewhere, uploads of other tabs look interrupted.
    const isFree = (lock) => Boolean(lock);
    const isLeft = (await navigator.locks?.request(lockOf(id), { ifAvailable: true }, isFree)) ?? true;
    checkingIds.delete(id);
    if (isLeft && !uploads.has(id)) orphans.add(id);
    drawProgress();
  }, SOON);
}

document.addEventListener("chat:upload", () => {
  for (const id of uploads.keys()) orphans.delete(id);
  drawProgress();
});
document.addEventListener("chat:files", drawProgress);
drawProgress();
