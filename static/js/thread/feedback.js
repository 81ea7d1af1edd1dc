// Feedback on a reply. Escape discards what is typed into the note and folds it; if a thumb or Save
// fails, a toast says so.

import { announce } from "../page/announcements.js";
import { OURS } from "../page/untrusted-html.js";
import { tell } from "../page/toast.js";

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
