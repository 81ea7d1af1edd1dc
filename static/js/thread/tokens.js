// The tokens of a reply are one tab stop; the arrow keys move between them.

import { OURS } from "../page/untrusted-html.js";

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
