// Opens a plain text file of the draft, such as a long paste: to edit it, or to put it into the message.

import { chips, nameOf } from "./attachments.js";
import { dialogOf, end, removeChip } from "./chip-actions.js";
import { ask, post } from "./requests.js";
import { box, fill, joinParagraphs } from "../composer/message-box.js";
import { say } from "../page/state.js";
import { OURS } from "../page/untrusted-html.js";

const EDITOR = `<dialog class="file-dialog file-text" aria-labelledby="text-heading"><form method="dialog">
  <h2 id="text-heading" dir="auto" hx-ignore></h2>
  <textarea name="text" aria-labelledby="text-heading" spellcheck="false"></textarea>
  <p class="problem" role="alert" hidden></p>
  <div class="actions">
    <button type="button" class="apart" data-puts-into-message>Put into the message</button>
    <button type="button" data-closes>Cancel</button><button class="button">Save</button>
  </div>
</form></dialog>`;

async function open(chip) {
  const url = `/files/${chip.dataset.file}/text/`;
  const headers = { Accept: "text/plain" };
  const answer = await ask(url, "GET", undefined, { headers }).catch(() => null);
  if (!answer?.ok) return say(`“${nameOf(chip)}” couldn't be opened. Try again in a moment.`);
  const text = await answer.text();
  const dialog = dialogOf(EDITOR);
  const field = dialog.querySelector("textarea");
  dialog.querySelector("h2").textContent = nameOf(chip);
  field.value = text;
  field.setSelectionRange(0, 0);
  dialog.addEventListener("submit", async (event) => {
    event.preventDefault();
    end(dialog, field.value === text ? "" : await post(url, { text: field.value }));
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
  if (chip && chips().includes(chip)) open(chip);
});
