// Keyboard shortcuts: a key sends the prompt, Escape stops the reply, "/" focuses the message box, and
// Ctrl+Shift+O or Cmd+Shift+O starts a new chat.
//
// Enter sends, or only Ctrl+Enter or Cmd+Enter if `send-by` in localStorage is `ctrl-enter`. On touch
// screens Enter always inserts a new line, since their keyboards have no other key for it.

import { box, form } from "./message-box.js";
import { isStreaming } from "../page/state.js";

const SETTING = "send-by";
const TOUCH = matchMedia("(pointer: coarse)");

const enterSends = () => !TOUCH.matches && localStorage.getItem(SETTING) !== "ctrl-enter";

export const sends = ({ key, ctrlKey, metaKey, shiftKey }) =>
  key === "Enter" && (ctrlKey || metaKey || (enterSends() && !shiftKey));

function showSendKey() {
  box().enterKeyHint = enterSends() ? "send" : "enter";
  form().querySelector(".send").title = enterSends() ? "Send (Enter)" : "Send (Ctrl+Enter)";
}

document.addEventListener("chat:shown", showSendKey);
document.addEventListener("focusin", showSendKey); // the setting may have changed
addEventListener("storage", showSendKey);

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
