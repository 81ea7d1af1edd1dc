// Keyboard shortcuts: Enter sends (see send-by.js), Escape stops the reply, "/" focuses the message box,
// and Ctrl+Shift+O or Cmd+Shift+O starts a new chat.

import { box, form } from "./message-box.js";
import { isStreaming } from "../page/state.js";
import { sends } from "./send-by.js";

const isTyping = (target) => target.matches?.("input, textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.defaultPrevented) return;
  if (document.querySelector(":modal, :popover-open")) return; // these handle keys themselves
  if (target === box() && sends(event)) {
    event.preventDefault();
    form().requestSubmit();
  } else if (key === "Escape" && isStreaming()) {
    event.preventDefault();
    form().querySelector(".stop").click();
  } else if (key === "/" && !isTyping(target) && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    box().focus();
  } else if (key.toLowerCase() === "o" && event.shiftKey && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    document.querySelector("[data-new-chat]").click();
  }
});
