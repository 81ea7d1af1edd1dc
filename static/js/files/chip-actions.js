// The buttons of the chips: cancel, remove, try again, choose pages.

import { chips, nameOf, refresh } from "./attachments.js";
import { post } from "./requests.js";
import { box } from "../composer/message-box.js";
import { say } from "../page/state.js";
import { remove, start, uploads } from "./uploads.js";
import { OURS } from "../page/untrusted-html.js";

const PAGES = `<dialog class="file-dialog" aria-labelledby="pages-heading"><form method="dialog">
  <h2 id="pages-heading">Pages to send</h2><p dir="auto" hx-ignore></p>
  <label>Pages<input name="pages" autocomplete="off" placeholder="All" aria-describedby="pages-means"></label>
  <p class="aside" id="pages-means">A page such as 3, or a range such as 1-10. Empty sends all.</p>
  <p class="problem" role="alert" hidden></p>
  <div class="actions"><button type="button" data-closes>Cancel</button><button class="button">Save</button></div>
</form></dialog>`;

export function dialogOf(html) {
  document.body.insertAdjacentHTML("beforeend", html);
  const dialog = document.body.lastElementChild;
  dialog.addEventListener("close", () => dialog.remove());
  return dialog;
}

// Shows the sentence in the dialog, or closes it if there is none.
export function end(dialog, problem) {
  const line = dialog.querySelector(".problem");
  Object.assign(line, { textContent: problem, hidden: !problem });
  if (!problem) dialog.close();
  refresh();
}

function choosePages(chip, { choosesPages: range }) {
  const dialog = dialogOf(PAGES);
  const { pages } = dialog.querySelector("form").elements;
  dialog.querySelector("p").textContent = nameOf(chip);
  pages.value = range;
  dialog.addEventListener("submit", async (event) => {
    event.preventDefault();
    end(dialog, await post(`/files/${chip.dataset.file}/pages/`, { pages: pages.value.trim() }));
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
export function removeChip(chip) {
  const all = chips().sort((a, b) => isFailed(b) - isFailed(a)); // as they are shown
  const next = all[all.indexOf(chip) + 1] ?? all[all.indexOf(chip) - 1];
  if (chip.contains(document.activeElement)) (next?.querySelector("[data-removes]") ?? box()).focus();
  return runAction(chip, remove(chip.dataset.file));
}

function retry(chip) {
  const { file: id } = chip.dataset;
  if (uploads.has(id)) start(id);
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
