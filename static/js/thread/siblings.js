// Steps between the replies to a prompt, or between the versions of a prompt: the control stays under
// the pointer and keeps the focus.

import { OURS } from "../page/untrusted-html.js";
import { scrollBy } from "./scrolling.js";

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
