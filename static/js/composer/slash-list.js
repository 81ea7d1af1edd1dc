// The list of prompts and commands over the message box, while its text is "/" and a few words. The focus
// stays in the box: arrow keys select, Enter and Tab choose, Escape closes. One row is selected, and has a
// preview. Loaded by slash.js.

import { box, form } from "./message-box.js";
import { sends } from "./shortcuts.js";
import {
  commands, insertText, list, loadEntries, pressControl, prompts, runCommand, untilLoaded, usePrompt,
} from "./slash-entries.js";

const MOST = 100; // characters of a query
const SHOWN = 50; // rows
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
const UNSPACED = /[^\0-\x7f]/; // a script that may not put spaces between words

let isDismissed = false; // until the box has no slash any more

// What is typed after the slash; null if the text can't be meant for the list, such as a path.
function query() {
  const { value } = box();
  const isMeant = !isDismissed && document.activeElement === box() && value.length <= MOST;
  return isMeant && /^\/[^/\n]*$/.test(value) ? value.slice(1) : null;
}

const begins = (terms, word) => terms.startsWith(word) || (UNSPACED.test(word) && terms.includes(word));

// Each typed word must begin a word of the title, or the only one the command.
function fits({ terms, command }, queryWords) {
  if (queryWords.length === 1 && command.startsWith(queryWords[0])) return true;
  return queryWords.every((word) => terms.some((one) => begins(one, word)));
}

function showMatches() {
  const text = query();
  if (text === null) return close();
  const queryWords = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = [...prompts(), ...commands()].filter((one) => fits(one, queryWords));
  const isExact = ({ command }) => queryWords.length === 1 && command === queryWords[0];
  const first = [...matches.filter(isExact), ...matches.filter((one) => !isExact(one))];
  if (first.length) draw(first.slice(0, SHOWN), first.length);
  else close();
}

function update() {
  if (!box().value.startsWith("/")) isDismissed = false;
  if (query() === null) return close();
  localStorage.setItem("slash", "used");
  loadEntries(showMatches);
  showMatches();
}

export function openList() {
  loadEntries(showMatches);
  update();
}

function choose(entry) {
  isDismissed = true; // a prompt's text may begin with a slash, too
  close();
  if (entry.id) return usePrompt(entry.id);
  insertText("");
  if (entry.does) runCommand(entry.does);
  else pressControl(entry.presses);
}

addEventListener("keydown", async (event) => {
  const { key, target } = event;
  if (target !== box() || event.ctrlKey || event.metaKey || event.altKey) return;
  const loading = query() !== null && sends(event) && untilLoaded();
  if (!loading && !(isOpen() && acts(event))) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  await loading;
  if (loading && !isOpen()) return form().requestSubmit();
  if (key in STEPS) return step(STEPS[key]);
  if (key !== "Escape") return choose(selectedEntry());
  isDismissed = true;
  close();
}, true);

const acts = ({ key, shiftKey }) => !shiftKey && (key in STEPS || ["Escape", "Enter", "Tab"].includes(key));

document.addEventListener("chat:typed", update);
document.addEventListener("chat:shown", close);
document.addEventListener("focusout", ({ target, relatedTarget }) => {
  if (target === box() && !relatedTarget?.closest("#slash")) close();
});
document.addEventListener("mousedown", (event) => {
  if (event.target.closest?.("#slash-rows")) event.preventDefault(); // keeps the focus in the box
});
document.addEventListener("click", ({ target }) => {
  const row = target.closest?.("#slash .slash-row");
  if (row) choose(selectedEntry(row));
});

// ---- its rows

const ENOUGH = 400; // px
const MARGIN = 16;

let rows = []; // as drawn
let active = 0;

const part = (name) => list().querySelector(`.slash-${name}`);

const isOpen = () => rows.length > 0 && list().isConnected;

// The selected entry, or that of an element.
const selectedEntry = (element) => rows[element ? [...part("rows").children].indexOf(element) : active];

function draw(entries, count) {
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

function step(by) {
  const next = active + by;
  const most = rows.length - 1;
  if (Math.abs(by) === 1) select(next < 0 ? most : next > most ? 0 : next);
  else select(Math.max(0, Math.min(next, most)));
}

function close() {
  if (!rows.length) return;
  rows = [];
  list().hidden = true;
  for (const name of ["activedescendant", "controls", "autocomplete"]) box().removeAttribute(`aria-${name}`);
}
