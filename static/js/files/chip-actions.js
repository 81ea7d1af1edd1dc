// The buttons of the chips: cancel, remove, try again, choose pages. A plain text file, such as a long
// paste, can also be opened: to edit it, or to put it into the message.

import { chips, nameOf, refresh } from "./attachments.js";
import { ask, post } from "./requests.js";
import { box, fill, joinParagraphs } from "../composer/message-box.js";
import { say } from "../page/state.js";
import { removeUpload, startUpload, uploads } from "./uploads.js";
import { OURS } from "../page/untrusted-html.js";

const PAGES = `<dialog class="file-dialog" aria-labelledby="pages-heading"><form method="dialog">
  <h2 id="pages-heading">Pages to send</h2><p dir="auto" hx-ignore></p>
  <label>Pages<input name="pages" autocomplete="off" placeholder="All" aria-describedby="pages-means"></label>
  <p class="aside" id="pages-means">A page such as 3, or a range such as 1-10. Empty sends all.</p>
  <p class="problem" role="alert" hidden></p>
  <div class="actions"><button type="button" data-closes>Cancel</button><button class="button">Save</button></div>
</form></dialog>`;

function addDialog(html) {
  document.body.insertAdjacentHTML("beforeend", html);
  const dialog = document.body.lastElementChild;
  dialog.addEventListener("close", () => dialog.remove());
  return dialog;
}

// Shows the sentence in the dialog, or closes it if there is none.
function endDialog(dialog, problem) {
  const line = dialog.querySelector(".problem");
  Object.assign(line, { textContent: problem, hidden: !problem });
  if (!problem) dialog.close();
  refresh();
}

function choosePages(chip, { choosesPages: range }) {
  const dialog = addDialog(PAGES);
  const { pages } = dialog.querySelector("form").elements;
  dialog.querySelector("p").textContent = nameOf(chip);
  pages.value = range;
  dialog.addEventListener("submit", async (event) => {
    event.preventDefault();
    endDialog(dialog, await post(`/files/${chip.dataset.file}/pages/`, { pages: pages.value.trim() }));
  });
  dialog.showModal();
  pages.select();
}

async function runAction(chip, request) {
  const problem = await request;
  say(problem && `“${nameOf(chip)}”: ${problem}`);
  refresh();
}

const isFailed = ({ dataset }) => dataset.state === "failed";

// Moves the focus to the next chip's button, or to the message box.
function removeChip(chip) {
  const all = chips().sort((a, b) => isFailed(b) - isFailed(a)); // as they are shown
  const next = all[all.indexOf(chip) + 1] ?? all[all.indexOf(chip) - 1];
  if (chip.contains(document.activeElement)) (next?.querySelector("[data-removes]") ?? box()).focus();
  return runAction(chip, removeUpload(chip.dataset.file));
}

function retry(chip) {
  const { file: id } = chip.dataset;
  if (uploads.has(id)) startUpload(id);
  else runAction(chip, post(`/files/${id}/retry/`));
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.(`.chip button${OURS}`);
  const chip = button?.closest(".chip");
  if (!chip) return;
  if ("removes" in button.dataset) removeChip(chip);
  if ("retries" in button.dataset) retry(chip);
  if ("choosesPages" in button.dataset) choosePages(chip, button.dataset);
});

// ---- texts

const EDITOR = `<dialog class="file-dialog file-text" aria-labelledby="text-heading"><form method="dialog">
  <h2 id="text-heading" dir="auto" hx-ignore></h2>
  <textarea name="text" aria-labelledby="text-heading" spellcheck="false"></textarea>
  <p class="problem" role="alert" hidden></p>
  <div class="actions">
    <button type="button" class="apart" data-puts-into-message>Put into the message</button>
    <button type="button" data-closes>Cancel</button><button class="button">Save</button>
  </div>
</form></dialog>`;

async function openText(chip) {
  const url = `/files/${chip.dataset.file}/text/`;
  const headers = { Accept: "text/plain" };
  const answer = await ask(url, "GET", undefined, { headers }).catch(() => null);
  if (!answer?.ok) return say(`“${nameOf(chip)}” couldn't be opened. Try again in a moment.`);
  const text = await answer.text();
  const dialog = addDialog(EDITOR);
  const field = dialog.querySelector("textarea");
  dialog.querySelector("h2").textContent = nameOf(chip);
  field.value = text;
  field.setSelectionRange(0, 0);
  dialog.addEventListener("submit", async (event) => {
    event.preventDefault();
    endDialog(dialog, field.value === text ? "" : await post(url, { text: field.value }));
  });
  dialog.querySelector("[data-puts-into-message]").addEventListener("click", () => {
    fill(joinParagraphs(box().value, field.value));
    dialog.close();
    removeChip(document.getElementById(chip.id) ?? chip);
    box().focus();
  });
  dialog.showModal();
}

document.addEventListener("click", ({ target }) => {
  const chip = target.closest?.(`[data-edits-text]${OURS}`)?.closest(".chip");
  if (chip && chips().includes(chip)) openText(chip);
});
