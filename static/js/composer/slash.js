// Loads the list of prompts and commands when a person types "/" into the empty message box, and holds
// Enter back until it has loaded. In a browser where the list was used before, it is loaded soon after
// the box has got the focus.

import { box } from "./message-box.js";
import { sends } from "./shortcuts.js";

const SOON = 500; // ms

let coming = null;
let isThere = false;

const come = () => {
  coming ??= import("./slash-list.js").then(({ begin }) => {
    isThere = true;
    begin();
  }, () => (coming = null));
};

document.addEventListener("input", ({ target }) => {
  if (target === box() && target.value.startsWith("/")) come();
});

document.addEventListener("focusin", ({ target }) => {
  if (target === box() && localStorage.getItem("slash")) setTimeout(come, SOON);
});

addEventListener("keydown", async (event) => {
  const { target } = event;
  if (!coming || isThere || target !== box() || !sends(event)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  await coming;
  target.dispatchEvent(new KeyboardEvent("keydown", event));
}, true);
