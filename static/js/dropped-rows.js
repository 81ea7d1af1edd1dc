// Which rows endless.js has dropped from a list, so that Shift selects through them, too.

import { projectOf } from "./conversation-list.js";

const dropped = { above: [], below: [] }; // each with its id, and the project on whose page it was

export const forget = () => { dropped.above = dropped.below = []; };

document.addEventListener("chat:dropped", ({ detail: { side, list, rows } }) => {
  const gone = rows.map(({ dataset: { id } }) => ({ id, project: projectOf(list) }));
  if (side === "above") dropped.above = [...dropped.above, ...gone];
  else dropped.below = [...gone, ...dropped.below];
});

// All rows of a row's list by their ids, in their order: what is pinned, and those of the page
// between those that were dropped.
export function idsWith(row) {
  const project = projectOf(row);
  const root = row.closest("#lists, #project-chats");
  const ids = (found) => [...root.querySelectorAll(found)].map(({ dataset }) => dataset.id);
  const pinned = ids(":not(.endless) > .conversation"), shown = ids(".endless > .conversation");
  const there = new Set([...pinned, ...shown]); // one that was dropped may be back
  const [above, below] = [dropped.above, dropped.below].map((all) => all
    .filter((one) => one.project === project && !there.has(one.id)).map(({ id }) => id));
  return [...new Set([...pinned, ...above, ...shown, ...below])];
}
