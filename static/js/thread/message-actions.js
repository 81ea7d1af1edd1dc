// The controls at the foot of a message, loaded by static/js/page/lazy.js: feedback, the steps between the
// replies to a prompt or the versions of a prompt, the tokens of a reply, and the menu.

import "./message-menu.js";
import { announce } from "../page/announcements.js";
import { OURS } from "../page/untrusted-html.js";
import { tell } from "../page/toast.js";
import { scrollBy } from "./scrolling.js";

// ---- feedback. Escape discards what is typed into the note and folds it; if a thumb or Save fails, a toast
// says so.

const FAILED = "That didn't work. Nothing was changed. Try again in a moment.";

const isFeedback = (target) => target.matches?.(`.feedback${OURS}`);

// Capturing, so that Escape neither cancels an edit nor stops a reply.
document.addEventListener("keydown", (event) => {
  const note = event.target.closest?.(`.note[open]${OURS}`);
  if (event.key !== "Escape" || !note) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  note.closest("form").reset();
  note.open = false;
  note.querySelector("summary").focus();
}, true);

document.addEventListener("htmx:before:response", async ({ target, detail }) => {
  const { status, raw } = detail.ctx.response;
  if (isFeedback(target) && status >= 400) tell([422, 429].includes(status) ? await raw.text() : FAILED);
});

document.addEventListener("htmx:error", ({ target }) => {
  if (isFeedback(target)) tell(FAILED);
});

// Saving folds the note and hides Save: move the focus to the note's button.
document.addEventListener("htmx:after:settle", ({ target }) => {
  if (!isFeedback(target)) return;
  const note = document.activeElement.closest(".note:not([open])");
  if (!note || !target.contains(note)) return;
  note.querySelector("summary").focus({ preventScroll: true });
  announce("Saved.");
});

// ---- steps: the control stays under the pointer and keeps the focus

let step = null; // {message, label, top}: the target, the button's label and its position

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.(`.siblings${OURS} > button`);
  if (!button) return;
  const { message } = JSON.parse(button.getAttribute("hx-vals"));
  step = { message, label: button.ariaLabel, top: button.getBoundingClientRect().top };
});

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id !== "messages" || !step) return;
  const group = document.querySelector(`:is(#reply-${step.message}, #m-${step.message}) .siblings${OURS}`);
  if (!group) return;
  const button = group.querySelector(`[aria-label="${step.label}"]:enabled`) ?? group.querySelector(":enabled");
  button.focus({ preventScroll: true });
  scrollBy(button.getBoundingClientRect().top - step.top);
  step = null;
});

// ---- tokens: they are one tab stop; the arrow keys move between them

document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  if (!target.matches?.(`.token-line > .token${OURS}`)) return;
  const { nextElementSibling: ArrowRight, previousElementSibling: ArrowLeft } = target;
  const next = { ArrowRight, ArrowLeft }[key];
  if (!next) return;
  event.preventDefault();
  target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});
