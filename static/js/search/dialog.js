// The search dialog, opened by opener.js: arrow keys move through the results, Enter opens one.
// htmx loads the results from the server during typing; a newer request replaces a pending one.

import { closeMenu } from "../page/menus.js";
import { choose } from "../account/preferences.js";

const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }; // rows

const dialog = document.getElementById("search");
const input = dialog.querySelector("input");
const status = dialog.querySelector("[role=status]");
const rows = () => [...dialog.querySelectorAll("[role=option]")];
const active = () => dialog.querySelector("[aria-selected=true]");

export function requestResults() {
  htmx.trigger(input, "look");
}

function activate(row) {
  active()?.setAttribute("aria-selected", "false");
  row?.setAttribute("aria-selected", "true");
  row?.scrollIntoView({ block: "nearest" });
  input.setAttribute("aria-activedescendant", row?.id ?? "");
}

function step(by) {
  const all = rows();
  const next = all.indexOf(active()) + by;
  activate(all[Math.max(0, Math.min(next, all.length - 1))]);
}

// A command chooses a preference, or clicks its control on the page, once the dialog no longer covers it.
function leave(row) {
  dialog.close();
  const { presses, chooses } = row.dataset;
  if (presses) document.querySelector(presses)?.click();
  if (chooses) choose(...chooses.split("="));
}

dialog.addEventListener("keydown", (event) => {
  if (event.target !== input) return;
  if (event.key in STEPS) step(STEPS[event.key]);
  else if (event.key === "Enter" && input.value === shownQuery()) active()?.click();
  else if (event.key !== "Enter") return;
  event.preventDefault();
});

// The query of the shown results: Enter must not choose a result that is about to be replaced.
const shownQuery = () => document.getElementById("search-found").dataset.query;

dialog.addEventListener("click", (event) => {
  const row = event.target.closest("[role=option]");
  if (!row || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if ("narrows" in row.dataset) return input.focus(); // its passages replace all results
  if (row.dataset.presses || row.dataset.chooses) event.preventDefault();
  leave(row);
});

dialog.addEventListener("click", ({ target }) => {
  const filter = target.closest("[data-writes]")?.dataset.writes;
  if (!filter) return;
  closeMenu();
  const space = input.value && !input.value.endsWith(" ") ? " " : "";
  input.setRangeText(space + filter, input.value.length, input.value.length, "end");
  input.focus();
  input.dispatchEvent(new Event("input", { bubbles: true }));
});

document.addEventListener("htmx:after:swap", () => {
  if (!dialog.open || active()) return;
  const all = rows();
  all.forEach((row, number) => (row.id = `found-${number}`));
  activate(all[0]);
  dialog.querySelector("#search-found").scrollTop = 0;
  const count = all.length === 1 ? "1 result" : `${all.length} results`;
  status.textContent = all.length ? count : "No results";
});
