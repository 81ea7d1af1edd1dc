// Keeps disclosures as the reader left them. The reasoning is folded when it is complete, unless the
// person has folded or unfolded it; those of an answer stay open or closed when their block is drawn
// again.

import { OURS } from "../page/untrusted-html.js";
import { swapsOf } from "../page/htmx-socket.js";

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

const handledByReader = new WeakSet(); // those that the reader opened or closed

document.addEventListener("click", ({ target }) => {
  const summary = target.closest?.(".prose summary");
  if (summary) handledByReader.add(summary.parentElement);
});

document.addEventListener("htmx:before:swap", (event) => {
  for (const { target, fragment, isOuter } of swapsOf(event)) {
    if (!isOuter || !target.matches?.(".prose .block")) continue;
    const drawn = fragment.querySelectorAll("details");
    target.querySelectorAll("details").forEach((former, index) => {
      if (!handledByReader.has(former) || !drawn[index]) return;
      drawn[index].open = former.open;
      handledByReader.add(drawn[index]);
    });
  }
});
