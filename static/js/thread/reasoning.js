// Folds the reasoning when it is complete, unless the person has folded or unfolded it.

import { OURS } from "../page/untrusted-html.js";

const byHand = new WeakSet();

document.addEventListener("click", ({ target }) => {
  const summary = target.closest?.(`.reasoning > summary${OURS}`);
  if (summary) byHand.add(summary.parentElement);
});

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.matches?.("summary[data-thought]") && !byHand.has(target.parentElement)) {
    target.parentElement.open = false;
  }
});
