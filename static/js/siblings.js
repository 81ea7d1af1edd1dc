// From one reply to the next of the same prompt, which is another page of the conversation: the
// control stays under the pointer, and focused.

import { OURS } from "./foreign.js";
import { scrollBy } from "./scrolling.js";

let step = null; // {reply, label, top}: where to, by which link, and how far down that stood

document.addEventListener("click", ({ target }) => {
  const link = target.closest?.(`.siblings${OURS} > a`);
  if (!link) return;
  const reply = new URL(link.href).searchParams.get("reply");
  step = { reply, label: link.ariaLabel, top: link.getBoundingClientRect().top };
});

document.addEventListener("chat:shown", () => {
  const nav = step && document.querySelector(`[data-reply="${step.reply}"] .siblings${OURS}`);
  if (nav) {
    const link = nav.querySelector(`[aria-label="${step.label}"]`) ?? nav.querySelector("a");
    link.focus({ preventScroll: true });
    scrollBy(link.getBoundingClientRect().top - step.top);
  }
  step = null;
});
