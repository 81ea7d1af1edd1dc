// The files of a prompt that is edited: each can be removed; those that are kept are sent along.

import { addressOf } from "../page/icons.js";
import { OURS } from "../page/untrusted-html.js";

const CHIP = `<li><span dir="auto" hx-ignore></span><button type="button" class="icon-button" title="Remove">
<svg class="icon" aria-hidden="true"><use href="${addressOf("x")}"/></svg></button></li>`;

// Lists the files of a prompt in its editor: those in `keptIds` (an id in each line), or all.
export function listFiles(editor, prompt, keptIds) {
  const list = editor.querySelector(".kept-files");
  for (const { dataset, firstElementChild: { title } } of prompt.querySelectorAll(`.files > li${OURS}`)) {
    if (keptIds !== undefined && !keptIds.includes(dataset.file)) continue;
    list.insertAdjacentHTML("beforeend", CHIP);
    list.lastChild.dataset.file = dataset.file;
    list.lastChild.firstChild.textContent = title;
    list.lastChild.lastChild.setAttribute("aria-label", `Remove ${title}`);
  }
  list.addEventListener("click", ({ target }) => {
    const chip = target.closest("button")?.closest("li");
    if (chip) remove(editor, chip);
  });
  writeIds(editor);
}

function remove(editor, chip) {
  const next = (chip.nextElementSibling ?? chip.previousElementSibling)?.querySelector("button");
  chip.remove();
  (next ?? editor.elements.message).focus();
  writeIds(editor);
  editor.elements.attached.dispatchEvent(new Event("input", { bubbles: true }));
}

function writeIds(editor) {
  const list = editor.querySelector(".kept-files");
  list.hidden = !list.children.length;
  editor.elements.attached.value = [...list.children].map(({ dataset }) => dataset.file).join("\n");
}
