// Edits an earlier prompt in its own place, while the message box keeps its draft. A prompt's pencil
// starts an edit, as does ArrowUp in an empty message box for the last prompt; Escape cancels it.
// Nothing is overwritten: the server stores an edit as another version.

import { announce } from "../page/announcements.js";
import { OURS } from "../page/untrusted-html.js";
import { box, fillAbove } from "../composer/message-box.js";
import { say } from "../page/state.js";
import { draw, editor, field } from "./prompt-editor.js";
import { sends } from "../composer/shortcuts.js";

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
  draw(place, prompt, text, attached);
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
