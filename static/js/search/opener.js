// Opens the search dialog with Ctrl+K or Cmd+K, or from the sidebar. Its script is loaded on first use;
// until then htmx shows the results, and Enter opens the search page.

import { open } from "../page/dialogs.js";
import { OURS } from "../page/untrusted-html.js";

const loadDialog = () => import("./dialog.js");
const dialog = document.getElementById("search");

function openSearch() {
  open("search");
  if (!dialog.open) return; // another dialog is open
  dialog.querySelector("input").select();
  loadDialog().then(({ requestResults }) => requestResults(), () => {});
}

document.addEventListener("keydown", (event) => {
  const isAsked = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
  if (!isAsked || event.shiftKey || event.altKey || event.defaultPrevented) return;
  event.preventDefault();
  dialog.open ? dialog.close() : openSearch();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest?.(`a[data-opens="search"]${OURS}`);
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  openSearch();
});
