// Loads the list of prompts and commands when a person types "/" into the empty message box, and holds
// Enter back until it has loaded.

import { box } from "./message-box.js";
import { sends } from "./send-by.js";

let coming = null;
let isThere = false;

const come = () => import("./slash-list.js").then((list) => {
  isThere = true;
  list.look();
}, () => (coming = null));

document.addEventListener("input", ({ target }) => {
  if (target === box() && target.value.startsWith("/")) coming ??= come();
});

addEventListener("keydown", async (event) => {
  const { target } = event;
  if (!coming || isThere || target !== box() || event.isComposing || !sends(event)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  await coming;
  target.dispatchEvent(new KeyboardEvent("keydown", event));
}, true);
