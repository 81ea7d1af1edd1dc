// A searchable list of models, opened by model-opener.js over the select, which remains what is sent and
// works without this script. It can also open next to a button, for another use of the chosen model.

import { draw, entriesOf, matching, setIn } from "./model-list.js";
import "./other-models.js";

const FINE_POINTER = matchMedia("(pointer: fine)"); // focusing opens no on-screen keyboard
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }; // rows

const sheet = document.getElementById("model-sheet");
const search = sheet.querySelector("input");
const list = sheet.querySelector("[role=listbox]");
const select = () => document.getElementById("model");
export const isOpen = () => sheet.matches(":popover-open");

let asked = null; // a request other than the select's: {anchor, chosen, take, isFit}
let entries = [];
let rows = [];
let active = 0; // index of the active row

export function openFor(anchor, chosen, take, isFit) {
  asked = { anchor, chosen, take, isFit };
  open();
}

const opener = () => asked?.anchor ?? select();
const chosen = () => asked?.chosen ?? select().value;

export function open(query = "") {
  const box = opener().getBoundingClientRect();
  sheet.classList.toggle("asked", asked !== null);
  sheet.classList.toggle("above", box.bottom > document.documentElement.clientHeight / 2);
  for (const side of ["top", "left", "bottom"]) sheet.style.setProperty(`--picker-${side}`, `${box[side]}px`);
  entries = entriesOf(select(), asked?.isFit);
  search.value = query;
  list.replaceChildren(); // avoids laying out the previous rows again
  sheet.showPopover(); // a modal dialog would restyle the whole page
  if (FINE_POINTER.matches || query) search.focus();
  show();
}

function show() {
  const found = matching(entries, search.value);
  rows = draw(list, found, chosen());
  sheet.querySelector(".model-none").hidden = found.length > 0;
  const count = found.length === 1 ? "1 model" : `${found.length} models`;
  sheet.querySelector("[role=status]").textContent = search.value && count;
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

// For text and Enter typed before the script had loaded: chooses without showing the list.
export function chooseFirst(query) {
  const [first] = matching(entriesOf(select()), query);
  if (first) setIn(select(), first.value);
}

export function close() {
  opener().focus({ preventScroll: true });
  sheet.hidePopover();
}

function choose(row) {
  const { take } = asked ?? {};
  close();
  if (take) take(row.dataset.value);
  else setIn(select(), row.dataset.value);
}

sheet.addEventListener("keydown", (event) => {
  const { key } = event;
  if (event.target.matches("button")) return;
  if (key in STEPS) activate(active + STEPS[key]);
  else if (key === "Enter") rows[active] && choose(rows[active]);
  else if (key === "Escape") close(); // must not stop the reply
  else return void (key.length === 1 && search.focus());
  event.preventDefault();
});

search.addEventListener("input", show);
list.addEventListener("click", ({ target }) => {
  if (target.closest(".model-row")) choose(target.closest(".model-row"));
});
sheet.addEventListener("toggle", ({ newState }) => {
  if (newState === "closed") asked = null;
});
sheet.addEventListener("focusout", ({ relatedTarget }) => {
  if (isOpen() && !sheet.contains(relatedTarget)) sheet.hidePopover();
});
document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "model-picker" && isOpen()) show((entries = entriesOf(select(), asked?.isFit)));
});
