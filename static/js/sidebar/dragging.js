// Dragging a conversation onto a project moves it there, together with the other selected ones if it
// is selected; dragging it onto the main list takes it out of its project. The menu's "Move to…" does
// the same.

import { folder, projectOf } from "./conversation-list.js";
import { OURS } from "../page/untrusted-html.js";
import { change, choose } from "./conversation-actions.js";
import { selection } from "./selecting.js";

let draggedFrom = null; // the project that they come from, or "" for the list

document.addEventListener("dragstart", ({ target, dataTransfer }) => {
  const row = target.closest?.(`.conversation${OURS}`);
  if (!row || !row.querySelector("a")) return;
  draggedFrom = projectOf(row);
  const many = selection();
  choose(many.has(row.dataset.id) ? many : new Map([[row.dataset.id, draggedFrom]]));
  dataTransfer.effectAllowed = "copyMove";
});

document.addEventListener("dragend", () => {
  draggedFrom = null;
  mark(null);
});

// Returns the drop target under the pointer: a project or the main list.
function placeAt(target) {
  if (draggedFrom === null) return null;
  const project = target.closest?.("[data-project]");
  const list = draggedFrom && !folder() ? target.closest?.("#conversations") : null;
  return project && project.dataset.project !== draggedFrom ? project : list;
}

function mark(place) {
  document.querySelectorAll("[data-over]").forEach((one) => one.removeAttribute("data-over"));
  place?.setAttribute("data-over", "");
}

document.addEventListener("dragover", (event) => {
  const place = placeAt(event.target);
  mark(place);
  if (place) event.preventDefault();
});

document.addEventListener("drop", (event) => {
  const place = placeAt(event.target);
  if (!place) return;
  event.preventDefault();
  const { project } = place.dataset;
  change("move", project ? { project } : {});
});
