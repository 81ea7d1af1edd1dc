// What a person thinks of a reply. Escape gives up what is typed into its note and folds that; where
// nothing came of a press or of Save, a line says so.

import { announce } from "./announcements.js";
import { OURS } from "./foreign.js";
import { tell } from "./toast.js";

const FAILED = "That did not work. Nothing was changed: try again in a moment.";

const isFeedback = (target) => target.matches?.(`.feedback${OURS}`);

// Before all others: nor is an edit given up, or a reply stopped.
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

// Save goes with the note, and leaves its place to what unfolds that again.
document.addEventListener("htmx:after:settle", ({ target }) => {
  if (!isFeedback(target)) return;
  const note = document.activeElement.closest(".note:not([open])");
  if (!note || !target.contains(note)) return;
  note.querySelector("summary").focus({ preventScroll: true });
  announce("Saved.");
});
