// Dialogs that the server draws when a link opens them, some with a style sheet of their own.

import { OURS } from "./untrusted-html.js";

// Appends a dialog from the server, and returns it once its styles have loaded. People can type into it
// before that: `fill` is called first.
export async function fetchDialog(address, id, target = "body", fill = () => {}) {
  await htmx.ajax("GET", address, { target, swap: "beforeend" });
  fill();
  const dialog = document.getElementById(id);
  const styles = dialog.querySelector("link");
  if (styles && !styles.sheet) await new Promise((done) => { styles.onload = styles.onerror = done; });
  return dialog;
}

// Loads the dialog from this address when a button next opens it: it may show another conversation.
export function fetchFrom(id, address) {
  document.getElementById(id)?.remove();
  for (const button of document.querySelectorAll(`[data-opens="${id}"]${OURS}`)) button.dataset.from = address;
}

// WebKit does not focus a link that is clicked, and so does not give the focus back to it. The link may
// have been drawn again meanwhile.
export function focusOn(opened) {
  const again = () => document.querySelector(`[href="${opened.getAttribute("href")}"]${OURS}`);
  (opened.isConnected ? opened : again())?.focus();
}
