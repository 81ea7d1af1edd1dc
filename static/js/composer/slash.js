// Loads the list of prompts and commands when a person types "/" into the empty message box, and holds
// Enter back until it has loaded. In a browser where the list was used before, it is loaded soon after
// the box has got the focus.

import { box } from "./message-box.js";
import { sends } from "./shortcuts.js";

const SOON = 500; // ms

let loading = null;
let isLoaded = false;

const loadList = () => {
  loading ??= import("./slash-list.js").then(({ openList }) => {
    isLoaded = true;
    openList();
  }, () => (loading = null));
};

document.addEventListener("input", ({ target }) => {
  if (target === box() && target.value.startsWith("/")) loadList();
});

document.addEventListener("focusin", ({ target }) => {
  if (target === box() && localStorage.getItem("slash")) setTimeout(loadList, SOON);
});

addEventListener("keydown", async (event) => {
  const { target } = event;
  if (!loading || isLoaded || target !== box() || !sends(event)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  await loading;
  target.dispatchEvent(new KeyboardEvent("keydown", event));
}, true);
