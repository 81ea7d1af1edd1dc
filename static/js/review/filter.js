// The filter of the review in one line: a chosen completion fills its fields of the form and shows the
// list. Without this script, the form has all fields.

import { SuggestionList } from "../staff/suggestion-list.js";
import { matching } from "../composer/model-list.js";

const STEPS = { ArrowDown: 1, ArrowUp: -1 };

const form = document.querySelector("form.filter");
const input = form.querySelector("[role=combobox]");
const list = new SuggestionList(input, form.querySelector("[role=listbox]"), choose);
let shownEntries = []; // the entries of the list
let latest = 0; // the number of the last request for names
let completing = Promise.resolve();

function draw(entries) {
  shownEntries = entries;
  list.list.replaceChildren(...entries.map(rowOf));
  list.open();
  if (input.value.trim()) list.activate(list.options[0]);
}

function rowOf({ group, text }) {
  const row = document.createElement("li");
  row.role = "option";
  const value = document.createElement("bdi");
  value.textContent = text;
  row.append(`${group}: `, value);
  return row;
}

function choose(row) {
  const { fields, words } = shownEntries[list.options.indexOf(row)];
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
  return answer?.ok && !answer.redirected ? (await answer.json()).people : [];
}

async function complete() {
  const number = ++latest;
  const text = input.value.trim();
  if (!text) return draw(samples);
  draw(findCompletions(text));
  const names = await namesFor(text);
  if (number === latest && names.length) draw(withNames(names, text));
}

// Enter must not choose a completion that is about to be replaced.
async function chooseActive() {
  await completing;
  if (list.isOpen && list.active) choose(list.active);
}

const start = () => (completing = complete());

input.addEventListener("input", start);
input.addEventListener("focus", start);
input.addEventListener("blur", () => list.close());

input.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key in STEPS) {
    if (list.isOpen) list.step(STEPS[event.key]);
    else start();
  } else if (event.key === "Enter") {
    chooseActive();
  } else if (event.key === "Escape") {
    if (!list.isOpen) return input.blur();
    list.close();
  } else if (event.key === "Backspace" && !input.value) {
    [...form.querySelectorAll(".chips a")].at(-1)?.click();
  } else return;
  event.preventDefault();
});

// Keeps empty fields out of the address.
form.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (!value) formData.delete(name);
});

const MAX_COUNT = 10;
const DAY = 24 * 3600 * 1000; // ms

// ---- completions: the choices of the fields, dates, names, and the typed text itself. Each has the `fields`
// of the form that it fills, or `words` to search for.

const daysAgo = (count) => new Date(Date.now() - count * DAY).toISOString().slice(0, 10);
const completion = (group, text, fields) => ({ group, text, about: "", fields });

function dates() {
  const today = daysAgo(0);
  return [
    completion("Last used", "today", { since: today, until: "" }),
    completion("Last used", "yesterday", { since: daysAgo(1), until: daysAgo(1) }),
    completion("Last used", "in the last 7 days", { since: daysAgo(6), until: "" }),
    completion("Last used", "in the last 30 days", { since: daysAgo(29), until: "" }),
  ];
}

function choices(select) {
  const group = form.querySelector(`label[for="${select.id}"]`).textContent.trim();
  const options = [...select.options].filter(({ value }) => value);
  return options.map(({ value, text }) => completion(group, text, { [select.name]: value }));
}

const tools = [...form.querySelectorAll("#tools option")].map(({ value, text }) => ({
  ...completion("Tool called", text, { tool: value }),
  about: value,
}));

const fixedEntries = [...[...form.querySelectorAll("select")].flatMap(choices), ...tools, ...dates()];

// Two of each field, to show what there is.
const samples = fixedEntries
  .filter(({ group }, at) => fixedEntries.findIndex((one) => one.group === group) > at - 2)
  .slice(0, MAX_COUNT);

// What the typed text itself can stand for.
function suggestTyped(text) {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) {
    return [completion("Last used from", text, { since: text }), completion("Last used to", text, { until: text })];
  }
  if (/^\d+([.]\d+)?$/.test(text)) {
    return [
      completion("Minimum replies", text, { replies: text }),
      completion("Minimum cost", `$${text}`, { cost: text }),
      completion("Minimum characters", text, { characters: text }),
    ];
  }
  return [
    completion("Person", text, { person: text }),
    completion("Tool called", text, { tool: text }),
    completion("Moderation category", text, { category: text }),
    { ...completion("Search the text of chats for", text), words: text },
  ];
}

function findCompletions(text) {
  return [...matching(fixedEntries, text).slice(0, MAX_COUNT), ...suggestTyped(text)];
}

// The same with these people's names in place of the text as a person.
function withNames(names, text) {
  const people = names.map((name) => completion("Person", name, { person: name }));
  const matches = matching(fixedEntries, text).slice(0, MAX_COUNT - names.length);
  return [...people, ...matches, ...suggestTyped(text).filter(({ fields }) => !fields?.person)];
}
