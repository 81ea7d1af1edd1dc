// Draws in the chips how far the uploads of this tab are, and which ones no tab runs any more.

import { chips } from "./attachments.js";
import { showProblem } from "./failed-chips.js";
import { canRetry, lockOf, uploads } from "./uploads.js";

const INTERRUPTED = "The upload was interrupted. Attach the file again to go on.";
const SOON = 1000; // ms; by then, the tab that began an upload holds its lock

const orphans = new Set(); // ids of uploads that no tab runs

function draw() {
  let isChanged = false;
  for (const chip of chips().filter((one) => one.querySelector("progress"))) {
    const { file: id, state } = chip.dataset;
    const upload = uploads.get(id);
    const isOrphan = !upload && orphans.has(id);
    if (upload) chip.querySelector("progress").value = upload.received;
    if (!upload && !isOrphan) check(id);
    chip.toggleAttribute("data-orphan", isOrphan);
    const problem = upload?.problem || (isOrphan ? INTERRUPTED : "");
    showProblem(chip, problem, Boolean(upload?.problem) && canRetry(upload));
    isChanged ||= chip.dataset.state !== state;
  }
  if (isChanged) document.dispatchEvent(new Event("chat:files"));
}

const checkingIds = new Set(); // ids that are being checked

function check(id) {
  if (checkingIds.has(id)) return;
  checkingIds.add(id);
  setTimeout(async () => {
    // Browsers have locks in secure contexts only. Elsewhere, uploads of other tabs look interrupted.
    const isFree = (lock) => Boolean(lock);
    const isLeft = (await navigator.locks?.request(lockOf(id), { ifAvailable: true }, isFree)) ?? true;
    checkingIds.delete(id);
    if (isLeft && !uploads.has(id)) orphans.add(id);
    draw();
  }, SOON);
}

document.addEventListener("chat:upload", () => {
  for (const id of uploads.keys()) orphans.delete(id);
  draw();
});
document.addEventListener("chat:files", draw);
draw();
