// Edits an earlier prompt in the message box. Its text replaces the draft there, which comes back when
// the edit is sent or cancelled. A prompt's pencil starts an edit, as does ArrowUp in an empty box for
// the last prompt; Escape cancels it. Nothing is overwritten: the server stores an edit as another
// version.

import { announce } from "./announcements.js";
import { OURS } from "./untrusted-html.js";
import { box, fill, fillAbove, form, written } from "./message-box.js";
import { say } from "./page.js";
import { parted } from "./pasting.js";

const FAILED = "The prompt's text couldn't be loaded. Try again in a moment.";

let edited = null; // {prompt, aside}: the prompt's id, and the draft that was in the box
let isSent = false;

export const edit = () => edited;

// Resumes an edit.
export function resume(prompt, ...parts) {
  edited = { prompt, aside: edited ? edited.aside : written() };
  fill(...parts);
  draw();
}

async function begin({ edit: prompt, text: address }) {
  const answer = await fetch(address, { redirect: "error" }).catch(() => null);
  if (!answer?.ok) return say(FAILED);
  resume(prompt, ...parted(await answer.text()));
  say("");
  box().focus({ preventScroll: true });
  announce("Editing an earlier prompt. Press Escape to cancel.");
}

function end() {
  const { aside } = edited;
  edited = null;
  isSent = false;
  draw();
  return aside;
}

function giveUp() {
  fill(...end());
  box().focus({ preventScroll: true });
}

function draw() {
  document.getElementById("editing").hidden = !edited;
  form().elements.action.value = edited ? "edit" : "prompt";
  form().elements.edited.value = edited?.prompt ?? "";
  mark();
}

function mark() {
  document.querySelector(".prompt.edited")?.classList.remove("edited");
  if (edited) document.getElementById(`m-${edited.prompt}`)?.classList.add("edited");
}

document.addEventListener("click", ({ target }) => {
  const pencil = target.closest?.(`[data-edit]${OURS}`);
  if (pencil) begin(pencil.dataset);
  if (target.closest?.(`[data-ends-edit]${OURS}`)) giveUp();
});

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (document.querySelector(":modal, :popover-open")) return;
  const last = [...document.querySelectorAll(`#messages [data-edit]${OURS}`)].at(-1);
  if (key === "Escape" && edited) giveUp();
  else if (key === "ArrowUp" && target === box() && !written().join("") && !edited && last) begin(last.dataset);
  else return;
  event.preventDefault(); // Escape must not stop a reply, too
}, true);

document.addEventListener("htmx:ws:before:message:outgoing", ({ detail }) => {
  if (detail.message.values.action === "edit") isSent = true;
});

document.addEventListener("chat:answered", () => {
  if (edited && isSent) fillAbove(...end());
});

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "messages") mark();
});

for (const name of ["chat:shown", "chat:gone"]) {
  document.addEventListener(name, () => {
    edited = null;
    isSent = false;
  });
}
