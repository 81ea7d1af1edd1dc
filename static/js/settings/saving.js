// Saves what is changed in the panel of a stored chat's settings: a field when it is left, and long texts
// while they are typed. Messages that ask for a reply wait for it, and are not sent if it is refused.
// What is typed while the server draws the panel again is kept.

import { cancelMessage } from "../page/htmx-socket.js";
import { conversation } from "../page/state.js";
import { tell } from "../page/toast.js";

const PAUSE = 1000; // ms without a key
const ASKS = ["prompt", "edit", "retry", "continue"];
const FAILED = "The chat settings couldn't be saved. Try again in a moment.";
const UNSENT = "Nothing was sent, because the chat settings aren't saved. Correct them, or try again.";

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

document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => {
  if (!saving || ctx.target?.id !== "chat-settings") return;
  const isDrawn = ctx.status === "swapped" && ctx.response.status < 400;
  if (!isDrawn && isUnsaved()) tell(FAILED);
  if (isDrawn && isUnsaved() && !isRefused()) save(); // drawn for another model, or typed in meanwhile
  else end();
});

document.addEventListener("htmx:ws:before:message:outgoing", ({ detail }) => {
  if (!ASKS.includes(detail.message.values.action)) return;
  save();
  if (saving) detail.waitUntil(saving.promise.then(() => cancelIfUnsaved(detail)));
});

function cancelIfUnsaved(detail) {
  if (!isUnsaved()) return;
  cancelMessage(detail);
  document.dispatchEvent(new Event("chat:unsent"));
  tell(UNSENT);
}

// The page may be closed before a request is sent.
addEventListener("pagehide", () => {
  if (isUnsaved()) navigator.sendBeacon(form().getAttribute("hx-post"), new FormData(form()));
});

// ---- what is typed meanwhile

const FIELDS = ":is(input, textarea, select):not([type=hidden], [hx-trigger])";

const shownModel = () => panel().querySelector("[name=settings_of]")?.value;
const fields = () => [...panel().querySelectorAll(FIELDS)];
const values = () => new Map(fields().map(({ name, value }) => [name, value]));

let askedValues = null; // the panel's values when its next version was asked for
let lateValues = new Map(); // those that have changed since
let askedModel; // whose settings they are

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (ctx.target?.id === "chat-settings") askedValues = values();
});

document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => {
  if (ctx.target?.id !== "chat-settings" || !askedValues) return;
  lateValues = new Map([...values()].filter(([name, value]) => askedValues.get(name) !== value));
  askedModel = shownModel();
  askedValues = null;
});

// Not after it has settled: a prompt may be sent before that.
document.addEventListener("htmx:before:settle", ({ target }) => {
  if (target.id !== "chat-settings" || shownModel() !== askedModel) return;
  for (const field of fields()) {
    if (!lateValues.has(field.name)) continue;
    field.value = lateValues.get(field.name);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  lateValues.clear();
});
