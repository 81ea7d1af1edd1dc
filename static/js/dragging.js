// Dragging a conversation onto a project moves it there, together with the other selected ones if it
// is selected; dragging it onto the main list takes it out of its project. The menu's "Move to…" does
// the same.

import { projectOf, folder } from "./conversation-list.js";
import { OURS } from "./untrusted-html.js";
import { change, choose } from "./conversation-actions.js";
import { selection } from "./selecting.js";

let dragged = null; // the project that they come from, or "" for the list

document.addEventListener("dragstart", ({ target, dataTransfer }) => {
  const row = target.closest?.(`.conversation${OURS}`);
  if (!row || !row.querySelector("a")) return;
  dragged = projectOf(row);
  const many = selection();
  choose(many.has(row.dataset.id) ? many : new Map([[row.dataset.id, dragged]]));
  dataTransfer.effectAllowed = "copyMove";
});

document.addEventListener("dragend", () => {
  dragged = null;
  mark(null);
});

// Returns the drop target under the pointer: a project or the main list.
function placeAt(target) {
  if (dragged === null) return null;
  const project = target.closest?.("[data-project]");
  const list = dragged && !folder() ? target.closest?.("#conversations") : null;
  return project && project.dataset.project !== dragged ? project : list;
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
