// Which key sends a prompt: Enter, or only Ctrl+Enter or Cmd+Enter if `send-by` in localStorage is
// `ctrl-enter`. On touch screens Enter always inserts a new line, since their keyboards have no other
// key for it.

import { box, form } from "./message-box.js";

const SETTING = "send-by";
const TOUCH = matchMedia("(pointer: coarse)");

const enterSends = () => !TOUCH.matches && localStorage.getItem(SETTING) !== "ctrl-enter";

export const sends = ({ key, ctrlKey, metaKey, shiftKey }) =>
  key === "Enter" && (ctrlKey || metaKey || (enterSends() && !shiftKey));

function draw() {
  box().enterKeyHint = enterSends() ? "send" : "enter";
  form().querySelector(".send").title = enterSends() ? "Send (Enter)" : "Send (Ctrl+Enter)";
}

document.addEventListener("chat:shown", draw);
document.addEventListener("focusin", draw); // the setting may have changed
addEventListener("storage", draw);
