// Draws the list over the message box, with one row selected and its preview.

import { box } from "./message-box.js";
import { list } from "./slash-index.js";

const ENOUGH = 400; // px
const MARGIN = 16;

let rows = []; // as drawn
let active = 0;

const part = (name) => list().querySelector(`.slash-${name}`);

export const isOpen = () => rows.length > 0 && list().isConnected;

// The selected entry, or that of an element.
export const selectedEntry = (element) => rows[element ? [...part("rows").children].indexOf(element) : active];

export function draw(entries, count) {
  if (!list()) return; // not loaded yet
  const before = isOpen() ? rows[active] : null;
  rows = entries;
  part("rows").replaceChildren(...entries.map(makeRow));
  const card = box().closest(".composer-card");
  if (list().parentElement !== card) card.append(list());
  list().hidden = false;
  place(card.getBoundingClientRect());
  const status = list().querySelector("[role=status]");
  if (count > entries.length) status.textContent = `${entries.length} of ${count}. Type to see others.`;
  else status.textContent = count === 1 ? "1 entry" : `${count} entries`;
  const again = entries.findIndex(({ id, command }) => id === before?.id && command === before.command);
  box().setAttribute("aria-controls", "slash-rows");
  box().setAttribute("aria-autocomplete", "list");
  select(Math.max(again, 0));
}

// Above the message box, or below it if there is more room.
function place({ top, bottom }) {
  const below = innerHeight - bottom;
  const isBelow = top < ENOUGH && below > top;
  list().classList.toggle("below", isBelow);
  list().style.setProperty("--room", `${(isBelow ? below : top) - MARGIN}px`);
}

function makeRow({ title, command, owner }, number) {
  const row = list().querySelector("template").content.firstElementChild.cloneNode(true);
  const [name, key, about] = row.children;
  name.textContent = title;
  key.textContent = command ? `/${command}` : "";
  about.textContent = owner ? `by ${owner}` : "";
  row.id = `slash-${number}`;
  return row;
}

function select(number) {
  const { children } = part("rows");
  children[active]?.setAttribute("aria-selected", "false");
  active = number;
  children[active].setAttribute("aria-selected", "true");
  children[active].scrollIntoView({ block: "nearest" });
  box().setAttribute("aria-activedescendant", children[active].id);
  part("preview").textContent = rows[active].preview;
}

export function step(by) {
  const next = active + by;
  const most = rows.length - 1;
  if (Math.abs(by) === 1) select(next < 0 ? most : next > most ? 0 : next);
  else select(Math.max(0, Math.min(next, most)));
}

export function close() {
  if (!rows.length) return;
  rows = [];
  list().hidden = true;
  for (const name of ["activedescendant", "controls", "autocomplete"]) box().removeAttribute(`aria-${name}`);
}
