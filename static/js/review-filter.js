// The filter of the review in one line: what is typed is completed from the fields of the form below it,
// from the names of people, and from words for dates. A chosen completion fills its fields and shows the
// list. Without this script, the form has all fields.

import { matching } from "./model-list.js";

const MOST = 10; // completions
const STEPS = { ArrowDown: 1, ArrowUp: -1 };
const DAY = 24 * 3600 * 1000; // ms

const form = document.querySelector("form.filter");
const input = form.querySelector("[role=combobox]");
const list = form.querySelector("[role=listbox]");
let shown = []; // the entries of the list
let active = -1;
let latest = 0; // the number of the last request for names
let completing = Promise.resolve();

const daysAgo = (count) => new Date(Date.now() - count * DAY).toISOString().slice(0, 10);
const entry = (group, text, fields) => ({ group, text, about: "", fields });

function dates() {
  const today = daysAgo(0);
  return [
    entry("Last used", "today", { since: today, until: "" }),
    entry("Last used", "yesterday", { since: daysAgo(1), until: daysAgo(1) }),
    entry("Last used", "in the last 7 days", { since: daysAgo(6), until: "" }),
    entry("Last used", "in the last 30 days", { since: daysAgo(29), until: "" }),
  ];
}

function choices(select) {
  const group = form.querySelector(`label[for="${select.id}"]`).textContent.trim();
  const options = [...select.options].filter(({ value }) => value);
  return options.map(({ value, text }) => entry(group, text, { [select.name]: value }));
}

const fixed = [...[...form.querySelectorAll("select")].flatMap(choices), ...dates()];

// Two of each field, to show what there is.
const samples = fixed.filter(({ group }, at) => fixed.findIndex((one) => one.group === group) > at - 2);

// What the typed text itself can stand for.
function typed(text) {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) {
    return [entry("Last used from", text, { since: text }), entry("Last used to", text, { until: text })];
  }
  if (/^\d+([.]\d+)?$/.test(text)) {
    return [
      entry("Minimum replies", text, { replies: text }),
      entry("Minimum cost", `$${text}`, { cost: text }),
      entry("Minimum characters", text, { characters: text }),
    ];
  }
  return [
    entry("Person", text, { person: text }),
    entry("Tool called", text, { tool: text }),
    entry("Moderation category", text, { category: text }),
    { ...entry("Search the text of chats for", text), words: text },
  ];
}

function draw(entries) {
  shown = entries;
  list.replaceChildren(...entries.map(rowOf));
  open(entries.length > 0);
  activate(input.value.trim() ? 0 : -1);
}

function rowOf({ group, text }, number) {
  const row = document.createElement("li");
  row.role = "option";
  row.id = `completion-${number}`;
  const value = document.createElement("bdi");
  value.textContent = text;
  row.append(`${group}: `, value);
  return row;
}

function open(isOpen) {
  list.hidden = !isOpen;
  input.ariaExpanded = String(isOpen);
}

function activate(number) {
  active = shown[number] ? number : -1;
  [...list.children].forEach((row, at) => (row.ariaSelected = String(at === active)));
  list.children[active]?.scrollIntoView({ block: "nearest" });
  input.setAttribute("aria-activedescendant", list.children[active]?.id ?? "");
}

function choose({ fields, words }) {
  if (words) return searchText(words);
  for (const [name, value] of Object.entries(fields)) form.elements[name].value = value;
  form.requestSubmit();
}

function searchText(words) {
  const details = document.querySelector(".search-texts");
  details.open = true;
  details.querySelector("[name=words]").value = words;
  details.querySelector("[name=reason]").focus();
}

async function namesFor(text) {
  const answer = await fetch(`${input.dataset.people}?${new URLSearchParams({ q: text })}`).catch(() => null);
  if (!answer?.ok || answer.redirected) return [];
  return (await answer.json()).people.map((name) => entry("Person", name, { person: name }));
}

async function complete() {
  const number = ++latest;
  const text = input.value.trim();
  if (!text) return draw(samples.slice(0, MOST));
  const found = matching(fixed, text).slice(0, MOST);
  draw([...found, ...typed(text)]);
  const names = await namesFor(text);
  if (number !== latest || !names.length) return;
  const others = typed(text).filter(({ fields }) => !fields?.person);
  draw([...names, ...found.slice(0, MOST - names.length), ...others]);
}

// Enter must not choose a completion that is about to be replaced.
async function chooseActive() {
  await completing;
  if (!list.hidden && shown[active]) choose(shown[active]);
}

const start = () => (completing = complete());

input.addEventListener("input", start);
input.addEventListener("focus", start);
input.addEventListener("blur", () => open(false));

input.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key in STEPS) {
    if (list.hidden) start();
    else activate((active + STEPS[event.key] + shown.length) % shown.length);
  } else if (event.key === "Enter") {
    chooseActive();
  } else if (event.key === "Escape") {
    if (list.hidden) return input.blur();
    open(false);
  } else if (event.key === "Backspace" && !input.value) {
    [...form.querySelectorAll(".chips a")].at(-1)?.click();
  } else return;
  event.preventDefault();
});

// The pointer must not take the focus from the field before the row is clicked.
list.addEventListener("pointerdown", (event) => event.preventDefault());
list.addEventListener("click", ({ target }) => {
  const row = target.closest("[role=option]");
  if (row) choose(shown[[...list.children].indexOf(row)]);
});

// Keeps empty fields out of the address.
form.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (!value) formData.delete(name);
});
