// Saves what is changed in the panel of a stored chat's settings: a field when it is left, and long texts
// while they are typed. Messages that ask for a reply wait for it, and are not sent if it is refused.

import { cancelMessage } from "./htmx-socket.js";
import { conversation } from "./page.js";
import { tell } from "./toast.js";

const PAUSE = 1000; // ms without a key
const ASKS = ["prompt", "edit", "retry", "continue"];
const FAILED = "The chat settings couldn't be saved. Try again in a moment.";
const REFUSED = "Nothing was sent: the chat settings have a mistake. Correct it, then try again.";

const panel = () => document.getElementById("chat-settings");
const form = () => panel()?.querySelector("form");
const isUnsaved = () => Boolean(conversation() && form() && "unsaved" in panel().dataset);
const isRefused = () => Boolean(panel()?.querySelector("[aria-invalid], .problem"));

let timer = 0;
let saving = null; // while a request for the panel is under way: {promise, resolve}

export const isSaving = () => saving !== null;

export function save() {
  clearTimeout(timer);
  if (!isUnsaved()) return;
  begin();
  form().requestSubmit();
}

function begin() {
  saving ??= Promise.withResolvers();
}

function end() {
  saving?.resolve();
  saving = null;
}

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (ctx.target?.id === "chat-settings" && conversation()) begin();
});

document.addEventListener("input", ({ target }) => {
  clearTimeout(timer);
  if (target.closest?.("#chat-settings textarea")) timer = setTimeout(save, PAUSE);
});

document.addEventListener("change", ({ target }) => {
  if (target.closest?.("#chat-settings form") && !target.matches("[hx-trigger]")) save();
});

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id !== "chat-settings") return;
  if (isUnsaved() && !isRefused()) save(); // it was drawn for another model, or typed in meanwhile
  else end();
});

for (const type of ["htmx:error", "htmx:response:error"]) {
  document.addEventListener(type, ({ detail: { ctx } }) => {
    if (ctx?.target?.id !== "chat-settings") return;
    if (saving) tell(FAILED);
    end();
  });
}

// Runs before the scripts that show the message as sent.
document.addEventListener("htmx:ws:before:message:outgoing", (event) => {
  const { detail } = event;
  if (!ASKS.includes(detail.message.values.action)) return;
  save();
  if (saving) return detail.waitUntil(saving.promise.then(() => cancelIfUnsaved(detail)));
  if (!isUnsaved()) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  tell(REFUSED);
}, true);

function cancelIfUnsaved(detail) {
  if (!isUnsaved()) return;
  cancelMessage(detail);
  document.dispatchEvent(new Event("chat:unsent"));
  tell(REFUSED);
}

// The page may be closed before a request is sent.
addEventListener("pagehide", () => {
  if (isUnsaved()) navigator.sendBeacon(form().getAttribute("hx-post"), new FormData(form()));
});
