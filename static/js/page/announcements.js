// Tells screen readers when a reply begins, waits, asks something and ends, but not each word of it.

import { OURS } from "./untrusted-html.js";

export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

document.addEventListener("htmx:after:settle", ({ target, detail }) => {
  for (const node of detail.newContent) {
    if (node.nodeType === Node.ELEMENT_NODE && node.closest("#messages")) announceArrived(node);
  }
  // The notice comes later in the same frame.
  const isEnded = target.matches?.("[data-reply]:not([data-ending=streaming])");
  if (isEnded) setTimeout(announceEnding, 0, target);
});

function announceArrived(node) {
  if (node.matches('[data-ending="streaming"]')) announce("Reply started");
  if (node.matches(`.beside${OURS}`)) announce("Replies started");
  if (node.matches(`.waiting${OURS}`)) announce(node.textContent);
  const question = node.matches('[data-state="asking"]') && `.tool-question${OURS}`;
  if (question) announce(node.querySelector(question).textContent);
}

function announceEnding(reply) {
  const notice = reply.querySelector(`.notice${OURS}`);
  if (notice?.getAttribute("role") === "alert") return; // it speaks for itself
  announce(notice?.textContent ?? "Reply complete");
}
