// Edits an earlier prompt in its own place, while the message box keeps its draft. A prompt's pencil
// starts an edit, as does ArrowUp in an empty message box for the last prompt; Escape cancels it.
// Nothing is overwritten: the server stores an edit as another version.

import { announce } from "../page/announcements.js";
import { OURS } from "../page/untrusted-html.js";
import { box, fillAbove, tooLong } from "../composer/message-box.js";
import { isStreaming, say } from "../page/state.js";
import { sends } from "../composer/shortcuts.js";
import { takesMessages } from "../page/htmx-socket.js";
import { unanswered } from "../composer/pending-prompt.js";
import { addressOf } from "../page/icons.js";

const FAILED = "The prompt's text couldn't be loaded. Try again in a moment.";
// {prompt, text, attached}: the prompt's id, its text as edited so far, and the ids of the files to keep.
let editedPrompt = null;

const placeOf = (prompt) => document.getElementById(`m-${prompt}`);
const announceTyping = () => document.dispatchEvent(new Event("chat:typed"));

// Opens the editor. Without the prompt on the page, the text goes to the message box.
export function resume(prompt, text, attached, takesFocus = true) {
  close();
  const place = placeOf(prompt);
  if (!place) return fillAbove(text);
  editedPrompt = { prompt, text, attached };
  drawEditor(place, prompt, text, attached);
  if (takesFocus) field().focus();
  announceTyping();
}

function close() {
  editor()?.remove();
  editedPrompt = null;
  announceTyping();
}

async function begin({ edit: prompt, text: address }) {
  const answer = await fetch(address, { redirect: "error" }).catch(() => null);
  say(answer?.ok ? "" : FAILED);
  if (!answer?.ok || !placeOf(prompt)) return; // another chat may be shown by now
  resume(prompt, await answer.text());
  announce("Editing an earlier prompt. Press Escape to cancel.");
}

function cancel() {
  const place = placeOf(editedPrompt.prompt);
  close();
  place.querySelector("[data-edit]").focus({ preventScroll: true });
}

document.addEventListener("click", ({ target }) => {
  const pencil = target.closest?.(`[data-edit]${OURS}`);
  if (pencil) begin(pencil.dataset);
  if (target.closest?.(`.editor [type=button]${OURS}`)) cancel();
});

document.addEventListener("input", ({ target }) => {
  if (!editor() || target.form !== editor()) return;
  const { message, attached } = editor().elements;
  Object.assign(editedPrompt, { text: message.value, attached: attached.value });
  announceTyping();
});

document.addEventListener("keydown", (event) => {
  if (document.querySelector(":modal, :popover-open")) return;
  const { key, target } = event;
  const isPlain = !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);
  const isEmptyBox = target === box() && !target.value;
  const last = [...document.querySelectorAll(`#messages [data-edit]${OURS}`)].at(-1);
  if (target === field() && sends(event)) editor().requestSubmit();
  else if (isPlain && key === "Escape" && editedPrompt) cancel();
  else if (isPlain && key === "ArrowUp" && isEmptyBox && !editedPrompt && last) begin(last.dataset);
  else return;
  event.preventDefault(); // Escape must not stop a reply, too
}, true);

document.addEventListener("htmx:ws:before:message:outgoing", ({ detail }) => {
  if (detail.message.values.action === "edit") close();
});

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id !== "messages" || !editedPrompt || editor()) return; // unless the thread was drawn again
  resume(editedPrompt.prompt, editedPrompt.text, editedPrompt.attached, document.activeElement === document.body);
});
document.addEventListener("chat:shown", () => (editedPrompt = null));

// ---- the form in the prompt's place. htmx sends it as it does the message box: with an id from
// composer/prompt.js, to the models that are selected.

const EDITOR = `<form class="editor" hx-ws:send hx-include="#model, #others input">
<input type="hidden" name="action" value="edit"><input type="hidden" name="edited">
<input type="hidden" name="attached"><ul class="kept-files" role="list" aria-label="Attached files"></ul>
<textarea name="message" rows="3" aria-label="Edit prompt" autocomplete="off"></textarea>
<div>
  <button type="button" class="text-button" title="Cancel (Escape)">Cancel</button>
  <button class="button">Save</button>
</div>
</form>`;

const editor = () => document.querySelector(`.editor${OURS}`);
const field = () => editor()?.elements.message;

function drawEditor(place, prompt, text, attached) {
  place.insertAdjacentHTML("beforeend", EDITOR);
  htmx.process(editor());
  editor().elements.edited.value = prompt;
  listFiles(editor(), place, attached);
  field().value = text; // with the caret at its end
}

document.addEventListener("submit", (event) => {
  if (event.target !== editor()) return;
  const text = field().value;
  const hasContent = text.trim() || editor().elements.attached.value;
  const isReady = hasContent && !isStreaming() && !unanswered() && takesMessages();
  if (isReady && !tooLong(text)) return;
  if (isReady) say(tooLong(text));
  else if (isStreaming()) say("A reply is still being written. Wait for its end or stop it, then save.");
  event.preventDefault();
  event.stopPropagation();
}, true);

// ---- the files of the prompt: each can be removed; those that are kept are sent along

const CHIP = `<li><span dir="auto" hx-ignore></span><button type="button" class="icon-button" title="Remove">
<svg class="icon" aria-hidden="true"><use href="${addressOf("x")}"/></svg></button></li>`;

// Lists the files of a prompt in its editor: those in `keptIds` (an id in each line), or all.
function listFiles(editor, prompt, keptIds) {
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
    if (chip) removeFile(editor, chip);
  });
  writeIds(editor);
}

function removeFile(editor, chip) {
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
