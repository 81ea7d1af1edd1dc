// Opens the search over the chat: by Ctrl or Cmd with K, or by the sidebar's link. Its script comes when
// it is first wanted; until then htmx shows what is found, and Enter leads to the page of a search.

import { open } from "./dialogs.js";
import { OURS } from "./foreign.js";

const fetched = () => import("./search.js");
const dialog = document.getElementById("search");

function openSearch() {
  open("search");
  if (!dialog.open) return; // another dialog waits for its answer
  dialog.querySelector("input").select();
  fetched().then(({ look }) => look(), () => {});
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
