// The list of prompts and commands over the message box, while its text is "/" and a few words. The focus
// stays in the box: arrow keys select, Enter and Tab choose, Escape closes. Loaded by slash.js.

import { box, form } from "./message-box.js";
import { sends } from "./shortcuts.js";
import { act, insert, press, use } from "./slash-actions.js";
import { untilLoaded, commands, load, prompts } from "./slash-index.js";
import { close, draw, isOpen, selectedEntry, step } from "./slash-rows.js";

const MOST = 100; // characters of a query
const SHOWN = 50; // rows
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
const UNSPACED = /[^\0-\x7f]/; // a script that may not put spaces between words

let isDismissed = false; // until the box has no slash any more

// What is typed after the slash; null if the text can't be meant for the list, such as a path.
function query() {
  const { value } = box();
  const isMeant = !isDismissed && document.activeElement === box() && value.length <= MOST;
  return isMeant && /^\/[^/\n]*$/.test(value) ? value.slice(1) : null;
}

const begins = (terms, word) => terms.startsWith(word) || (UNSPACED.test(word) && terms.includes(word));

// Each typed word must begin a word of the title, or the only one the command.
function fits({ terms, command }, queryWords) {
  if (queryWords.length === 1 && command.startsWith(queryWords[0])) return true;
  return queryWords.every((word) => terms.some((one) => begins(one, word)));
}

function show() {
  const text = query();
  if (text === null) return close();
  const queryWords = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = [...prompts(), ...commands()].filter((one) => fits(one, queryWords));
  const isExact = ({ command }) => queryWords.length === 1 && command === queryWords[0];
  const first = [...matches.filter(isExact), ...matches.filter((one) => !isExact(one))];
  if (first.length) draw(first.slice(0, SHOWN), first.length);
  else close();
}

function update() {
  if (!box().value.startsWith("/")) isDismissed = false;
  if (query() === null) return close();
  localStorage.setItem("slash", "used");
  load(show);
  show();
}

export function begin() {
  load(show);
  update();
}

function choose(entry) {
  isDismissed = true; // a prompt's text may begin with a slash, too
  close();
  if (entry.id) return use(entry.id);
  insert("");
  if (entry.does) act(entry.does);
  else press(entry.presses);
}

addEventListener("keydown", async (event) => {
  const { key, target } = event;
  if (target !== box() || event.ctrlKey || event.metaKey || event.altKey) return;
  const coming = query() !== null && sends(event) && untilLoaded();
  if (!coming && !(isOpen() && acts(event))) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  await coming;
  if (coming && !isOpen()) return form().requestSubmit();
  if (key in STEPS) return step(STEPS[key]);
  if (key !== "Escape") return choose(selectedEntry());
  isDismissed = true;
  close();
}, true);

const acts = ({ key, shiftKey }) => !shiftKey && (key in STEPS || ["Escape", "Enter", "Tab"].includes(key));

document.addEventListener("chat:typed", update);
document.addEventListener("chat:shown", close);
document.addEventListener("focusout", ({ target, relatedTarget }) => {
  if (target === box() && !relatedTarget?.closest("#slash")) close();
});
document.addEventListener("mousedown", (event) => {
  if (event.target.closest?.("#slash-rows")) event.preventDefault(); // keeps the focus in the box
});
document.addEventListener("click", ({ target }) => {
  const row = target.closest?.("#slash .slash-row");
  if (row) choose(selectedEntry(row));
});
