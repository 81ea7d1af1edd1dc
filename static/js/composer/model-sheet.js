// A searchable list of models, opened by model-picker.js over the select, which remains what is sent and
// works without this script. It can also open next to a button, for another use of the chosen model, or
// with a check box for each model. The rows are the options of a listbox.

import { chosenFirst, entriesOf, matching, setFirst, setIn } from "./model-list.js";
import { answeringModels, toggleModel } from "./other-models.js";

const FINE_POINTER = matchMedia("(pointer: fine)"); // focusing opens no on-screen keyboard
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }; // rows

const sheet = document.getElementById("model-sheet");
const search = sheet.querySelector("input");
const list = sheet.querySelector("[role=listbox]");
const select = () => document.getElementById("model");
export const isOpen = () => sheet.matches(":popover-open");

let currentRequest = null; // a request other than the select's; see `open`
let entries = [];
let rows = [];
let active = 0; // index of the active row

const say = (words) => (sheet.querySelector("[role=status]").textContent = words);
const opener = () => currentRequest?.anchor ?? select();
const chosen = () => currentRequest?.chosen() ?? [select().value];

// Opens it for the select, or for a request: next to its `anchor`, where `take` is called with the chosen
// model, and `isFit` tells by an option's dataset whether to show it. If `isSeveral`, `take` is called with
// each model that is clicked, and `chosen` returns those that are checked.
export function open(query = "", request = null) {
  currentRequest = request;
  placeAt(opener().getBoundingClientRect());
  sheet.classList.toggle("asked", currentRequest !== null);
  sheet.classList.toggle("several", Boolean(currentRequest?.isSeveral));
  list.ariaMultiSelectable = String(Boolean(currentRequest?.isSeveral));
  read();
  search.value = query;
  list.replaceChildren(); // avoids laying out the previous rows again
  sheet.showPopover(); // a modal dialog would restyle the whole page
  if (FINE_POINTER.matches || query) search.focus();
  show();
}

const onTop = () => (currentRequest?.isSeveral ? chosen() : []);
const read = () => (entries = chosenFirst(entriesOf(select(), currentRequest?.isFit), onTop()));

function show() {
  const matches = matching(entries, search.value);
  rows = drawRows(matches, chosen());
  sheet.querySelector(".model-none").hidden = matches.length > 0;
  say(search.value && (matches.length === 1 ? "1 model" : `${matches.length} models`));
  const first = rows.findIndex(({ ariaSelected }) => ariaSelected === "true");
  activate(search.value ? 0 : Math.max(first, 0), "center");
}

function activate(number, block = "nearest") {
  rows[active]?.classList.remove("active");
  const row = rows[(active = Math.max(0, Math.min(number, rows.length - 1)))];
  row?.classList.add("active");
  row?.scrollIntoView({ block });
  for (const element of [search, list]) element.setAttribute("aria-activedescendant", row?.id ?? "");
}

export const chooseFirst = (query) => setFirst(select(), query); // typed before this script had loaded

export function close() {
  opener().focus({ preventScroll: true });
  sheet.hidePopover();
}

function choose(row) {
  if (!row) return;
  const { take, isSeveral } = currentRequest ?? {};
  if (isSeveral) {
    take(row.dataset.value);
    for (const other of rows) other.ariaSelected = String(chosen().includes(other.dataset.value));
    return say(`${chosen().length} chosen`);
  }
  close();
  if (take) take(row.dataset.value);
  else setIn(select(), row.dataset.value);
}

sheet.addEventListener("keydown", (event) => {
  const { key } = event;
  if (event.target.matches("button")) return;
  if (key in STEPS) activate(active + STEPS[key]);
  else if (key === "Enter") choose(rows[active]);
  else if (key === "Escape") close(); // must not stop the reply
  else return void (key.length === 1 && search.focus());
  event.preventDefault();
});

document.addEventListener("click", ({ target }) => {
  if (!target.closest?.(".model-several")) return;
  sheet.hidePopover();
  open("", { anchor: select(), chosen: answeringModels, take: toggleModel, isSeveral: true });
});

search.addEventListener("input", show);
list.addEventListener("click", ({ target }) => choose(target.closest(".model-row")));
sheet.addEventListener("toggle", ({ newState }) => newState === "closed" && (currentRequest = null));
sheet.addEventListener("focusout", ({ relatedTarget }) => {
  if (isOpen() && !sheet.contains(relatedTarget)) sheet.hidePopover();
});
document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id !== "model-picker" || !isOpen()) return;
  read();
  show();
});

// ---- its rows

const FIRST_ROWS = 12; // rows drawnRows at once, more than the sheet shows; the others follow
const MAX_ROWS = 200; // rows; models after these are found by typing

// Opens it below the box of what opens it, or above in the lower half of the page.
function placeAt(box) {
  sheet.classList.toggle("above", box.bottom > document.documentElement.clientHeight / 2);
  for (const side of ["top", "left", "bottom"]) sheet.style.setProperty(`--picker-${side}`, `${box[side]}px`);
}

let later = 0; // timer that draws the other rows

// Draws the matches in the list, grouped, and returns their rows: those up to a few after the chosen one now,
// the others a moment later.
function drawRows(matches, chosenValues) {
  const drawnRows = [];
  clearTimeout(later);
  list.replaceChildren();
  const first = Math.max(FIRST_ROWS, matches.findIndex(({ value }) => chosenValues.includes(value)) + FIRST_ROWS);
  append(drawnRows, matches.slice(0, Math.min(first, MAX_ROWS)), chosenValues);
  if (first < matches.length) later = setTimeout(() => drawRest(drawnRows, matches, chosenValues), 50);
  return drawnRows;
}

function drawRest(drawnRows, matches, chosenValues) {
  append(drawnRows, matches.slice(drawnRows.length, MAX_ROWS), chosenValues);
  const left = matches.length - drawnRows.length;
  if (left) list.append(makeElement("p", "model-more", `${left} more. Type to search.`));
}

function append(drawnRows, matches, chosenValues) {
  for (const entry of matches) {
    let group = list.lastElementChild;
    if (!group || group.ariaLabel !== entry.group) list.append((group = groupOf(entry.group)));
    drawnRows.push(rowOf(entry, drawnRows.length, chosenValues.includes(entry.value)));
    group.append(drawnRows.at(-1));
  }
}

function groupOf(name) {
  const group = makeElement("div", "model-group");
  group.role = "group";
  group.ariaLabel = name;
  if (name) {
    const heading = makeElement("p", "model-group-name", name);
    heading.ariaHidden = "true"; // the group's label says it
    group.append(heading);
  }
  return group;
}

function rowOf({ value, text, about }, number, isChosen) {
  const row = makeElement("div", "model-row");
  row.role = "option";
  row.id = `model-row-${number}`;
  row.ariaSelected = String(isChosen);
  row.dataset.value = value;
  row.append(makeElement("span", "model-name", text));
  if (about) row.append(makeElement("span", "model-about", about));
  return row;
}

function makeElement(tag, name, text = "") {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  if (text) element.dir = "auto";
  return element;
}
