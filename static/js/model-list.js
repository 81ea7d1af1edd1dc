// The rows of the model list: made from a select's options, filtered by a query.

const FIRST = 12; // rows drawn at once, more than the sheet shows; the others follow
const MAX_COUNT = 200; // rows; models after these are found by typing

// A select's options as {value, group, text, about}; only those whose dataset is fit.
export function entriesOf(select, isFit = () => true) {
  return [...select.options].filter(({ value, dataset }) => value && isFit(dataset)).map((option) => {
    const { value, text, dataset } = option;
    const group = option.closest("optgroup")?.label ?? "";
    const id = value.slice(value.indexOf("/") + 1);
    const about = [id === text ? "" : id, dataset.about].filter(Boolean).join(" · ");
    return { value, group, text, about };
  });
}

export function setIn(select, value) {
  select.value = value;
  for (const type of ["input", "change"]) select.dispatchEvent(new Event(type, { bubbles: true }));
}

// The entries that contain every word of the query; "gpt4" finds "GPT-4" too.
export function matching(entries, query) {
  const wanted = folded(query).split(/\s+/).filter(Boolean);
  if (!wanted.length) return entries;
  return entries.filter((entry) => {
    const words = (entry.words ??= wordsOf(entry));
    return wanted.every((word) => words.includes(word));
  });
}

function wordsOf({ group, text, about }) {
  const words = folded(`${group} ${text} ${about}`);
  return `${words} ${joined(words)}`;
}

const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const joined = (text) => text.replace(/[^\p{L}\p{N}\s]+/gu, "");

let later = 0; // timer that draws the other rows

// Draws the entries in the list, grouped, and returns the rows: those up to a few after the chosen one
// now, the others a moment later.
export function draw(list, entries, chosen) {
  const rows = [];
  clearTimeout(later);
  list.replaceChildren();
  const first = Math.max(FIRST, entries.findIndex(({ value }) => value === chosen) + FIRST);
  append(list, rows, entries.slice(0, Math.min(first, MAX_COUNT)), chosen);
  if (first < entries.length) later = setTimeout(() => drawRest(list, rows, entries, chosen), 50);
  return rows;
}

function drawRest(list, rows, entries, chosen) {
  append(list, rows, entries.slice(rows.length, MAX_COUNT), chosen);
  const left = entries.length - rows.length;
  if (left) list.append(made("p", "model-more", `${left} more. Type to search.`));
}

function append(list, rows, entries, chosen) {
  for (const entry of entries) {
    let group = list.lastElementChild;
    if (!group || group.ariaLabel !== entry.group) list.append((group = groupOf(entry.group)));
    rows.push(rowOf(entry, rows.length, entry.value === chosen));
    group.append(rows.at(-1));
  }
}

function groupOf(name) {
  const group = made("div", "model-group");
  group.role = "group";
  group.ariaLabel = name;
  if (name) {
    const heading = made("p", "model-group-name", name);
    heading.ariaHidden = "true"; // the group's label says it
    group.append(heading);
  }
  return group;
}

function rowOf({ value, text, about }, number, isChosen) {
  const row = made("div", "model-row");
  row.role = "option";
  row.id = `model-row-${number}`;
  row.ariaSelected = String(isChosen);
  row.dataset.value = value;
  row.append(made("span", "model-name", text));
  if (about) row.append(made("span", "model-about", about));
  return row;
}

function made(tag, name, text = "") {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  if (text) element.dir = "auto";
  return element;
}
