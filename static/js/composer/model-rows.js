// How the model sheet is drawn: its place on the page, and its rows, which are the options of a listbox.

const FIRST = 12; // rows drawn at once, more than the sheet shows; the others follow
const MAX_COUNT = 200; // rows; models after these are found by typing

// Opens it below the box of what opens it, or above in the lower half of the page.
export function placeAt(sheet, box) {
  sheet.classList.toggle("above", box.bottom > document.documentElement.clientHeight / 2);
  for (const side of ["top", "left", "bottom"]) sheet.style.setProperty(`--picker-${side}`, `${box[side]}px`);
}

let later = 0; // timer that draws the other rows

// Draws the entries in the list, grouped, and returns the rows: those up to a few after the chosen one
// now, the others a moment later.
export function draw(list, entries, chosen) {
  const rows = [];
  clearTimeout(later);
  list.replaceChildren();
  const first = Math.max(FIRST, entries.findIndex(({ value }) => chosen.includes(value)) + FIRST);
  append(list, rows, entries.slice(0, Math.min(first, MAX_COUNT)), chosen);
  if (first < entries.length) later = setTimeout(() => drawRest(list, rows, entries, chosen), 50);
  return rows;
}

// Marks those whose models are chosen.
export function mark(rows, chosen) {
  for (const row of rows) row.ariaSelected = String(chosen.includes(row.dataset.value));
}

function drawRest(list, rows, entries, chosen) {
  append(list, rows, entries.slice(rows.length, MAX_COUNT), chosen);
  const left = entries.length - rows.length;
  if (left) list.append(makeElement("p", "model-more", `${left} more. Type to search.`));
}

function append(list, rows, entries, chosen) {
  for (const entry of entries) {
    let group = list.lastElementChild;
    if (!group || group.ariaLabel !== entry.group) list.append((group = groupOf(entry.group)));
    rows.push(rowOf(entry, rows.length, chosen.includes(entry.value)));
    group.append(rows.at(-1));
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
