// Keeps the disclosures of an answer as the reader left them when their block is drawn again.

import { swapsOf } from "../page/htmx-socket.js";

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
