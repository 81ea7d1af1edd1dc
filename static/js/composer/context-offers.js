// What helps if a chat is too long for the model: a note at the composer near the limit, and the buttons
// there and below a refused reply that need a model to be chosen first. Nothing happens by itself.

import { announce } from "../page/announcements.js";
import { findPercent, model } from "./context-meter.js";
import { focusBox } from "./message-box.js";
import { askForModel } from "./model-picker.js";
import { conversation } from "../page/state.js";
import { OURS } from "../page/untrusted-html.js";

const NEAR = 80; // percent

const note = () => document.getElementById("context-note");
const select = () => document.getElementById("model");

let pendingChoice = null; // {by, isNew}, for the message that is about to be sent
let isAwaited = false; // whether a redraw follows from an action of this tab

// Not imported from model-list.js, which other pages load without this page's bundle.
function choose(value) {
  select().value = value;
  for (const type of ["input", "change"]) select().dispatchEvent(new Event(type, { bubbles: true }));
}

function show() {
  const percent = findPercent();
  const isNear = percent >= NEAR && conversation() !== "";
  const name = model()?.text.trim() ?? "";
  const text = percent > 100
    ? `With the next prompt, this chat is probably too long for ${name}.`
    : `With the next prompt, this chat fills about ${percent}% of the context of ${name}.`;
  if (isNear && note().hidden) announce(text);
  note().hidden = !isNear;
  if (isNear) document.getElementById("context-note-text").textContent = text;
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.(`:is([data-summarise], [data-larger-model])${OURS}`);
  if (!button) return;
  const most = Number(model()?.dataset.context ?? 0);
  if ("largerModel" in button.dataset) {
    const isLarger = ({ context }) => !most || !context || Number(context) > most;
    askForModel(button, select().value, choose, isLarger);
    return;
  }
  askForModel(button, select().value, (by) => {
    pendingChoice = { by, isNew: button.dataset.summarise === "new" };
    document.getElementById("summarise-with").click();
  });
});

document.addEventListener("htmx:ws:before:message:outgoing", ({ detail: { message: { values } } }) => {
  if (values.action === "summarise" && pendingChoice) {
    Object.assign(values, { by: pendingChoice.by }, pendingChoice.isNew ? { new: "on" } : {});
    pendingChoice = null;
  }
  isAwaited ||= ["leave_out", "send_again", "edit_summary"].includes(values.action);
});

// The button that was pressed is gone by then.
document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id !== "messages" || !isAwaited) return;
  isAwaited = false;
  const cut = target.querySelector(`[data-cut]${OURS}`);
  announce(cut ? "Everything above the line is not sent to the model" : "Everything is sent to the model again");
  if (cut) cut.querySelector("button, summary")?.focus();
  else focusBox();
});

document.addEventListener("chat:filled", show);
show();
