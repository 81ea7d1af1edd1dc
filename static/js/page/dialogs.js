// Dialogs: a button with data-opens opens the dialog with that id; "?" opens the keyboard shortcuts. A
// dialog that is not on the page is loaded from the button's data-from. data-closes and a click
// outside close it, as the browser does on Escape.

import { OURS } from "./untrusted-html.js";
import { closeMenu } from "./menus.js";
import { tell } from "./toast.js";

const isWrittenIn = (target) => target.matches?.("input, textarea, select, [contenteditable]");

// Closes the menu first: on closing, the focus returns to where it was, not to a hidden menu item.
export async function open(id) {
  closeMenu();
  if (loadingIds.has(id)) return;
  if (!document.getElementById(id)) await fetchById(id);
  const dialog = document.getElementById(id);
  if (!dialog) tell("This couldn't be loaded. Try again in a moment.");
  else if (!document.querySelector(":modal")) dialog.showModal();
}

const loadingIds = new Set(); // ids

async function fetchById(id) {
  loadingIds.add(id);
  const { from } = document.querySelector(`[data-opens="${id}"]${OURS}`).dataset;
  await htmx.ajax("GET", from, { target: "body", swap: "beforeend" }).finally(() => loadingIds.delete(id));
}

document.addEventListener("click", ({ target }) => {
  const opens = target.closest?.(`[data-opens]${OURS}`);
  if (opens && !opens.matches("a")) open(opens.dataset.opens);
  if (target.closest?.(`dialog [data-closes]${OURS}`)) target.closest("dialog").close();
});

document.addEventListener("pointerdown", ({ target, clientX: x, clientY: y }) => {
  if (!target.matches?.("dialog:modal")) return;
  const { left, right, top, bottom } = target.getBoundingClientRect();
  if (x < left || x > right || y < top || y > bottom) target.close(); // on its backdrop
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "?" || isWrittenIn(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  open("shortcuts");
});
