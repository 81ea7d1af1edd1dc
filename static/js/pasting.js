// Keeps a long pasted text out of the message box, in a line that says how long it is: browsers take so
// long to lay it out in the box that the page would freeze. From there it can be shown in the box or
// removed.

import { announce } from "./announcements.js";
import { OURS } from "./untrusted-html.js";
import { attach, box, fill, joined, written } from "./message-box.js";

const LONG = 5000; // code units

document.addEventListener("paste", (event) => {
  const text = event.clipboardData.getData("text/plain");
  if (event.target !== box() || text.length <= LONG) return;
  event.preventDefault();
  attach(joined(written()[1], text.replace(/\r\n?/g, "\n")));
  announce("The pasted text is above the message box. It will be sent below what you type.");
});

document.addEventListener("click", ({ target }) => {
  if (target.closest?.(`[data-shows-pasted]${OURS}`)) fill(joined(...written()));
  else if (target.closest?.(`[data-removes-pasted]${OURS}`)) attach("");
  else return;
  box().focus();
});
