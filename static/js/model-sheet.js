// The models as a list to search in. It opens over the select that they are chosen for, by a click, a
// touch, Enter, an arrow or a letter on that. What is chosen here is chosen there: the select stays what
// is sent, and what serves without this script.

import { draw, entriesOf, matching } from "./model-list.js";

const FINE_POINTER = matchMedia("(pointer: fine)"); // focus brings up no keyboard on the screen
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }; // rows
const OPENERS = ["Enter", "ArrowDown", "ArrowUp", "F4"];

const sheet = document.getElementById("model-sheet");
const search = sheet.querySelector("input");
const list = sheet.querySelector("[role=listbox]");
const select = () => document.getElementById("model");
const isOpen = () => sheet.matches(":popover-open");

let entries = [];
let rows = [];
let active = 0; // of the rows

function open(query = "") {
  const { left, bottom } = select().getBoundingClientRect();
  sheet.style.setProperty("--picker-left", `${left}px`);
  sheet.style.setProperty("--picker-bottom", `${bottom}px`);
  entries = entriesOf(select());
  search.value = query;
  list.replaceChildren(); // what was shown last need not be laid out again
  sheet.showPopover(); // a modal dialog would have the whole page restyled
  if (FINE_POINTER.matches || query) search.focus();
  show();
}

function show() {
  const found = matching(entries, search.value);
  rows = draw(list, found, select().value);
  sheet.querySelector(".model-none").hidden = found.length > 0;
  const count = found.length === 1 ? "1 model" : `${found.length} models`;
  sheet.querySelector("[role=status]").textContent = search.value && count;
  const chosen = rows.findIndex(({ ariaSelected }) => ariaSelected === "true");
  activate(search.value ? 0 : Math.max(chosen, 0), "center");
}

function activate(number, block = "nearest") {
  rows[active]?.classList.remove("active");
  const row = rows[(active = Math.max(0, Math.min(number, rows.length - 1)))];
  row?.classList.add("active");
  row?.scrollIntoView({ block });
  for (const element of [search, list]) element.setAttribute("aria-activedescendant", row?.id ?? "");
}

function close() {
  sheet.hidePopover();
  select().focus({ preventScroll: true });
}

function choose(row) {
  close();
  select().value = row.dataset.value;
  for (const type of ["input", "change"]) select().dispatchEvent(new Event(type, { bubbles: true }));
}

// Not the browser's own list.
for (const type of ["mousedown", "touchend"]) {
  document.addEventListener(type, (event) => {
    if (event.target !== select() || event.button) return;
    event.preventDefault();
    isOpen() ? close() : open();
  });
}

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (target !== select() || event.ctrlKey || event.metaKey || event.isComposing) return;
  if (key.length > 1 && !OPENERS.includes(key)) return;
  event.preventDefault();
  open(key.length > 1 ? "" : key.trim());
});

sheet.addEventListener("keydown", (event) => {
  const { key } = event;
  if (event.isComposing) return;
  if (key in STEPS) activate(active + STEPS[key]);
  else if (key === "Enter") rows[active] && choose(rows[active]);
  else if (key === "Escape") close(); // and does not stop the reply
  else return void (key.length === 1 && search.focus());
  event.preventDefault();
});

search.addEventListener("input", show);
list.addEventListener("click", ({ target }) => {
  if (target.closest(".model-row")) choose(target.closest(".model-row"));
});
sheet.addEventListener("focusout", ({ relatedTarget }) => {
  if (isOpen() && !sheet.contains(relatedTarget)) sheet.hidePopover();
});
document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id !== "model-picker" || !isOpen()) return;
  entries = entriesOf(select());
  show();
});
