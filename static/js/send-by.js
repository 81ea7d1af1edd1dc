// What sends a prompt: Enter, or only Ctrl or Cmd with it where this browser was told so (`send-by`
// in its storage is `ctrl-enter`). Under a finger Enter always makes a new line: the keys on a screen
// have no other for it.

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
document.addEventListener("focusin", draw); // it may have been chosen since
addEventListener("storage", draw);
