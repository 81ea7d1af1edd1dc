// The files in the draft: chips above the message box, which the server draws and this reloads when
// they have changed in any tab. Fires `chat:files` on the document after each drawing.

import { form, isEmpty } from "../composer/message-box.js";
import { conversation } from "../page/state.js";

const SENT = new Set(); // ids of the files of a prompt without an answer yet

const list = () => document.getElementById("attached");
const all = () => [...list().querySelectorAll("[data-file]")];
export const chips = () => all().filter(({ dataset }) => !SENT.has(dataset.file));
export const nameOf = (chip) => chip.querySelector(".chip-name").textContent;
export const presetHasImages = () => Boolean(document.getElementById("context-meter").dataset.images);

export const refresh = () => htmx.trigger(document.getElementById("draft-files"), "refresh");

let awaiting = []; // {isAsked, resolve}

// Resolves when what the draft has by now is drawn.
export function untilDrawn() {
  return new Promise((resolve) => {
    awaiting.push({ isAsked: false, resolve });
    refresh();
  });
}

function resolve(isThere) {
  for (const one of awaiting.filter(isThere)) one.resolve();
  awaiting = awaiting.filter((one) => !isThere(one));
}

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (ctx.sourceElement?.id === "draft-files") for (const one of awaiting) one.isAsked = true;
});

export function redraw() {
  const shown = chips();
  for (const chip of all()) chip.hidden = !shown.includes(chip);
  list().hidden = !shown.length;
  form().elements.attached.value = shown.map(({ dataset }) => dataset.file).join("\n");
  form().toggleAttribute("data-empty", isEmpty());
  document.dispatchEvent(new Event("chat:files"));
}

// Hides the files of a prompt that was sent, until the server has moved them to the thread.
export function hideSent(ids) {
  for (const id of ids) SENT.add(id);
  redraw();
}

export function showAgain() {
  SENT.clear();
  redraw();
}

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "draft-state" && target.dataset.changed === conversation()) refresh();
  if (target.id !== "draft-files") return;
  redraw();
  resolve(({ isAsked }) => isAsked);
});

let hasConnected = false;

// What the page was drawn with is enough for its first connection, unless something is under way.
document.addEventListener("htmx:ws:after:connection", () => {
  if (hasConnected || all().length) refresh();
  hasConnected = true;
});

for (const type of ["chat:named", "chat:answered"]) {
  document.addEventListener(type, () => all().length && refresh());
}
document.addEventListener("chat:gone", refresh);
document.addEventListener("chat:shown", () => {
  showAgain();
  if (chips().some(({ dataset }) => dataset.state !== "ready")) refresh(); // it may have changed meanwhile
  resolve(() => true);
});
