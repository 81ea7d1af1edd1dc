// From one reply to the next of the same prompt, or from one version of a prompt to the next, with what
// follows it: the control stays under the pointer, and focused.

import { OURS } from "./foreign.js";
import { scrollBy } from "./scrolling.js";

let step = null; // {message, label, top}: where to, by which button, and how far down that stood

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
