// Remembers the rows that infinite-scroll.js dropped from a list, so that Shift-click also selects them.

import { projectOf } from "./conversation-list.js";

const droppedRows = { above: [], below: [] }; // [{id, project}], the project whose page it was on

export const forget = () => { droppedRows.above = droppedRows.below = []; };

document.addEventListener("chat:dropped", ({ detail: { side, list, rows } }) => {
  const gone = rows.map(({ dataset: { id } }) => ({ id, project: projectOf(list) }));
  if (side === "above") droppedRows.above = [...droppedRows.above, ...gone];
  else droppedRows.below = [...gone, ...droppedRows.below];
});

// The ids of all rows of a row's list, in order: pinned rows, then the rows on the page between those
// that were dropped.
export function idsWith(row) {
  const project = projectOf(row);
  const root = row.closest("#lists, #project-chats");
  const ids = (found) => [...root.querySelectorAll(found)].map(({ dataset }) => dataset.id);
  const pinned = ids(":not(.infinite) > .conversation"), shown = ids(".infinite > .conversation");
  const there = new Set([...pinned, ...shown]); // a dropped row may be back
  const [above, below] = [droppedRows.above, droppedRows.below].map((all) => all
    .filter((one) => one.project === project && !there.has(one.id)).map(({ id }) => id));
  return [...new Set([...pinned, ...above, ...shown, ...below])];
}
