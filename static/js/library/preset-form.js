// The form of a preset: uploads the files to the form's draft, shows how far they are, and takes away
// what is removed; the server draws the draft. The icon that is chosen is shown while the choice is
// folded.

import { post } from "../files/requests.js";
import { beginUpload, canRetry, removeUpload, showProblem, startUpload, uploads } from "../files/uploads.js";

const FAILED = "The files couldn't be attached. Try again in a moment.";
const WAIT = "Wait until all files have been read, or remove them, then save.";
const OFTEN = 500; // ms between looks at what is being read

const place = document.getElementById("preset-files");
const input = document.getElementById("preset-files-input");
const draft = document.getElementById("preset-draft");
const status = document.getElementById("preset-files-status");
const problem = document.getElementById("preset-files-problem");
const form = place.querySelector("[name=draft]").value;

const chips = () => [...draft.querySelectorAll("[data-file]")];
const unreadChips = () => chips().filter(({ dataset }) => ["uploading", "reading"].includes(dataset.state));

function say(sentence) {
  Object.assign(problem, { textContent: sentence, hidden: !sentence });
}

let isDrawing = false, isChanged = false, timer = 0;

// Draws the draft, once more if it changes meanwhile.
async function draw() {
  isChanged = true;
  if (isDrawing) return;
  isDrawing = true;
  clearTimeout(timer);
  while (isChanged) {
    isChanged = false;
    const answer = await fetch(`/files/draft/?form=${form}`).catch(() => null);
    if (answer?.ok && !answer.redirected) show(await answer.text());
  }
  isDrawing = false;
  if (unreadChips().length) timer = setTimeout(draw, OFTEN);
}

function show(html) {
  const focused = document.activeElement.closest?.(".chip")?.id;
  const before = unreadChips().length;
  draft.innerHTML = html;
  for (const [id, upload] of uploads) if (upload.problem) fail(id, upload);
  if (focused) document.getElementById(focused)?.querySelector("button")?.focus();
  if (before && !unreadChips().length) status.textContent = "All files have been read.";
}

function fail(id, upload) {
  const chip = document.getElementById(`file-${id}`);
  if (chip) showProblem(chip, upload.problem, canRetry(upload));
}

async function attach(files) {
  say("");
  status.textContent = `${files.length === 1 ? files[0].name : `${files.length} files`} attached.`;
  for (const file of files) {
    const [id, refusal] = await beginUpload(file, { form }).catch(() => ["", FAILED]);
    if (!id) say(`“${file.name}”: ${refusal}`);
    draw();
  }
}

input.addEventListener("change", () => {
  const files = [...input.files];
  input.value = ""; // so that the same file can be chosen again
  if (files.length) attach(files);
});

place.addEventListener("click", async ({ target }) => {
  if (target.closest("[data-attaches]")) return input.click();
  const button = target.closest("[data-removes], [data-retries]");
  const chip = button?.closest(".chip");
  if (!chip) return;
  const { kept, file: id } = chip.dataset;
  if ("retries" in button.dataset && uploads.has(id)) return startUpload(id);
  if ("retries" in button.dataset) say(await post(`/files/${id}/retry/`));
  else if (kept) chip.remove();
  else say(await removeUpload(id));
  if ("removes" in button.dataset) place.querySelector("[data-attaches]").focus();
  if (!kept) draw();
});

place.closest("form").addEventListener("submit", (event) => {
  if (!unreadChips().length) return;
  event.preventDefault();
  say(WAIT);
});

document.addEventListener("chat:upload", draw);
if (unreadChips().length) draw();

// ---- the icon, which may have been chosen before this script was loaded

const choice = document.querySelector(".preset-icon");

function showIcon() {
  const chosen = choice.querySelector(":checked ~ svg use");
  if (chosen) choice.querySelector("summary use").setAttribute("href", chosen.getAttribute("href"));
}

choice?.addEventListener("change", showIcon);
if (choice) showIcon();
