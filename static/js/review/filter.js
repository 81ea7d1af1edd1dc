// The filter of the review in one line: a chosen completion fills its fields of the form and shows the
// list. Without this script, the form has all fields.

import { completionsOf, samples, withNames } from "./completions.js";
import { SuggestionList } from "../staff/suggestion-list.js";

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
  draw(completionsOf(text));
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
