// A searchable list of models, opened by model-opener.js over the select, which remains what is sent and
// works without this script. It can also open next to a button, for another use of the chosen model.

import { chosenFirst, entriesOf, matching, setFirst, setIn } from "./model-list.js";
import { draw, mark, placeAt } from "./model-rows.js";
import { answering, toggle } from "./other-models.js";

const FINE_POINTER = matchMedia("(pointer: fine)"); // focusing opens no on-screen keyboard
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }; // rows

const sheet = document.getElementById("model-sheet");
const search = sheet.querySelector("input");
const list = sheet.querySelector("[role=listbox]");
const select = () => document.getElementById("model");
export const isOpen = () => sheet.matches(":popover-open");

let currentRequest = null; // a request other than the select's; see model-opener.js
let entries = [];
let rows = [];
let active = 0; // index of the active row

const say = (words) => (sheet.querySelector("[role=status]").textContent = words);
const opener = () => currentRequest?.anchor ?? select();
const chosen = () => currentRequest?.chosen() ?? [select().value];

export function open(query = "", request = null) {
  currentRequest = request;
  placeAt(sheet, opener().getBoundingClientRect());
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
  rows = draw(list, matches, chosen());
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
    mark(rows, chosen());
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
  open("", { anchor: select(), chosen: answering, take: toggle, isSeveral: true });
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
