// What the filter of the review completes: its fields' choices, dates, names, and the typed text itself.
// Each entry has the `fields` of the form that it fills, or `words` to search for.

import { matching } from "../composer/model-list.js";

const MOST = 10;
const DAY = 24 * 3600 * 1000; // ms

const form = document.querySelector("form.filter");
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

const tools = [...form.querySelectorAll("#tools option")].map(({ value, text }) => ({
  ...entry("Tool called", text, { tool: value }),
  about: value,
}));

const fixedEntries = [...[...form.querySelectorAll("select")].flatMap(choices), ...tools, ...dates()];

// Two of each field, to show what there is.
export const samples = fixedEntries
  .filter(({ group }, at) => fixedEntries.findIndex((one) => one.group === group) > at - 2)
  .slice(0, MOST);

// What the typed text itself can stand for.
function suggestTyped(text) {
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

export function completionsOf(text) {
  return [...matching(fixedEntries, text).slice(0, MOST), ...suggestTyped(text)];
}

// The same with these people's names in place of the text as a person.
export function withNames(names, text) {
  const people = names.map((name) => entry("Person", name, { person: name }));
  const matches = matching(fixedEntries, text).slice(0, MOST - names.length);
  return [...people, ...matches, ...suggestTyped(text).filter(({ fields }) => !fields?.person)];
}
