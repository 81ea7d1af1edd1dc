// Selects several conversations: Ctrl-click or Cmd-click selects a row, Shift-click a range, and
// "Select" in a menu lets each tap select. In selection mode the rows are check boxes.

import { folderOf, projectOf } from "./conversation-list.js";
import { OURS } from "../page/untrusted-html.js";
import { choose } from "./conversation-actions.js";
import { openExport } from "../exports/dialog.js";

const selectedRows = new Map(); // id → the project whose page it is on
let isSelecting = false;
let last = ""; // id of the row selected last, where a Shift-click range starts

const rows = () => [...document.querySelectorAll(`.conversation${OURS}`)];
const bar = () => document.getElementById("selection");
export const selection = () => new Map(selectedRows);

export function startSelecting(row) {
  isSelecting = true;
  add(row);
  draw();
  row.querySelector(".conversation-row").focus();
}

const toggle = (row) => selectedRows.delete(row.dataset.id) || add(row);

function add(row) {
  selectedRows.set(row.dataset.id, projectOf(row));
  last = row.dataset.id;
}

function addThrough(row) {
  const ids = idsWith(row);
  const [from, to] = [ids.indexOf(last), ids.indexOf(row.dataset.id)].sort((a, b) => a - b);
  if (from < 0) add(row);
  else for (const id of ids.slice(from, to + 1)) selectedRows.set(id, projectOf(row));
}

function deselect() {
  selectedRows.clear();
  forgetDropped();
  isSelecting = false;
  draw();
}

document.addEventListener("click", (event) => {
  const row = event.target.closest?.(`.conversation-row${OURS}`)?.closest(".conversation");
  if (!row || row.querySelector(".renaming")) return;
  const isWith = event.ctrlKey || event.metaKey;
  if (!isSelecting && !isWith && !event.shiftKey) return;
  event.preventDefault();
  event.stopPropagation();
  isSelecting = true;
  if (event.shiftKey) addThrough(row);
  else toggle(row);
  draw();
}, true);

document.addEventListener("keydown", (event) => {
  if (!isSelecting || document.querySelector(":modal, :popover-open")) return;
  if (event.key === "Escape") deselect();
  else if (event.key === " " && event.target.matches?.(`.conversation-row${OURS}`)) event.target.click();
  else return;
  event.preventDefault();
}, true);

function draw() {
  for (const row of rows()) {
    const line = row.querySelector(".conversation-row");
    row.toggleAttribute("data-selected", selectedRows.has(row.dataset.id));
    line.role = isSelecting ? "checkbox" : null;
    line.ariaChecked = isSelecting ? String(selectedRows.has(row.dataset.id)) : null;
    if (!line.href) line.tabIndex = isSelecting ? 0 : -1; // in the trash
  }
  document.body.toggleAttribute("data-selecting", isSelecting);
  bar().hidden = !isSelecting;
  document.getElementById("selection-count").textContent = `${selectedRows.size} selected`;
  const place = folderOf(rows().find(({ dataset }) => dataset.id === last));
  for (const button of bar().querySelectorAll("[data-in]")) {
    button.hidden = !button.dataset.in.split(" ").includes(place);
    button.disabled = !selectedRows.size;
  }
}

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (isSelecting && target.closest?.("#lists, #main")) draw();
});
document.addEventListener("chat:kept", deselect);

// The buttons of the bar apply to all selected conversations.
document.addEventListener("click", ({ target }) => {
  if (target.closest?.("[data-deselect], [data-folder-link]")) deselect();
  else if (target.closest?.("#selection button")) choose(selection());
}, true);

document.addEventListener("click", ({ target }) => {
  if (target.closest?.("[data-export-selected]")) openExport([...selectedRows.keys()].map((id) => ["ids", id]));
});

// ---- the rows that infinite-scroll.js dropped from a list, so that Shift-click also selects them

const droppedRows = { above: [], below: [] }; // [{id, project}], the project whose page it was on

const forgetDropped = () => { droppedRows.above = droppedRows.below = []; };

document.addEventListener("chat:dropped", ({ detail: { side, list, rows } }) => {
  const gone = rows.map(({ dataset: { id } }) => ({ id, project: projectOf(list) }));
  if (side === "above") droppedRows.above = [...droppedRows.above, ...gone];
  else droppedRows.below = [...gone, ...droppedRows.below];
});

// The ids of all rows of a row's list, in order: pinned rows, then the rows on the page between those
// that were dropped.
function idsWith(row) {
  const project = projectOf(row);
  const root = row.closest("#lists, #project-chats");
  const ids = (found) => [...root.querySelectorAll(found)].map(({ dataset }) => dataset.id);
  const pinned = ids(":not(.infinite) > .conversation"), shown = ids(".infinite > .conversation");
  const there = new Set([...pinned, ...shown]); // a dropped row may be back
  const [above, below] = [droppedRows.above, droppedRows.below].map((all) => all
    .filter((one) => one.project === project && !there.has(one.id)).map(({ id }) => id));
  return [...new Set([...pinned, ...above, ...shown, ...below])];
}
