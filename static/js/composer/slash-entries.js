// What the list over the message box can show, and what its rows do: the prompts, as the server last told
// them, each of which is put into the box; and the app's commands whose controls are on the page, which
// are activated.

import { conversation } from "../page/state.js";
import { OURS } from "../page/untrusted-html.js";
import { change } from "../sidebar/conversation-actions.js";
import { openExport } from "../exports/dialog.js";
import { box } from "./message-box.js";
import { fetchDialog } from "../page/fetched-dialogs.js";
import { tell } from "../page/toast.js";

const FRESH = 30_000; // ms

let loadedAt = -Infinity;
let loading = null;
let entries = [];
let tag = ""; // of what is known
let element = null; // kept while the page shows another chat, whose composer has replaced its parent

export const list = () => element;
export const prompts = () => entries;

// The sidebar's controls work while it is folded; those of the chat only where they are.
function isThere({ presses, does }) {
  if (does) return conversation() && !document.querySelector("#title[data-temporary]");
  const control = document.querySelector(presses);
  return presses.startsWith(".") ? control?.checkVisibility({ visibilityProperty: true }) : control;
}

const entry = (id, title, command, owner, preview) => {
  const words = `${title} ${command}`.toLowerCase().split(/[\s/_-]+/);
  return { id, title, command, owner, preview, terms: words };
};

export const commands = () =>
  [...(element?.querySelectorAll("data") ?? [])]
    .filter(({ dataset }) => isThere(dataset))
    .map(({ dataset, textContent }) => ({ ...entry("", textContent, dataset.name, "", ""), ...dataset }));

// Asks for the prompts unless they are fresh, and calls `then` once they have come.
export async function loadEntries(then) {
  if (loading || performance.now() - loadedAt < FRESH) return;
  loading = Promise.allSettled([shell(), index()]); // the list shows what it has
  await loading;
  loading = null;
  loadedAt = performance.now();
  then();
}

const forgetEntries = () => { loadedAt = -Infinity; };

// Resolves once something can be shown; null if it can already.
export const untilLoaded = () => (loadedAt === -Infinity ? loading : null);

async function index() {
  const headers = tag ? { "If-None-Match": tag } : {};
  const answer = await fetch("/prompts/index/", { headers, redirect: "error" });
  if (!answer.ok) return; // most often it says that nothing has changed
  entries = (await answer.json()).map((one) => entry(...one));
  tag = answer.headers.get("ETag");
}

async function shell() {
  if (element) return;
  await htmx.ajax("GET", "/prompts/commands/", { target: "body", swap: "beforeend" });
  const drawn = document.querySelector(`#slash${OURS}`);
  const styles = drawn.querySelector("link");
  document.head.append(styles);
  await new Promise((done) => { styles.onload = styles.onerror = done; });
  element = drawn;
}

// ---- what a row does

const GONE = "This prompt is no longer there, or no longer shared with you.";
const FAILED = "This prompt couldn't be loaded. Your text is kept. Try again in a moment.";

// Replaces the box's text, so that the browser's undo brings it back.
export function insertText(text) {
  box().focus();
  box().select();
  const isDone = text ? document.execCommand("insertText", false, text) : document.execCommand("delete");
  if (isDone) return;
  box().value = text;
  box().dispatchEvent(new Event("input", { bubbles: true }));
}

export function pressControl(selector) {
  const control = document.querySelector(selector);
  if (!control?.matches("select")) return control?.click();
  control.focus();
  control.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true, cancelable: true }));
}

// What is done to the shown chat, by the name that the server has for it.
const ACTS = {
  archived: (id) => change("archive", {}, new Map([[id, ""]])),
  exported: (id) => openExport([["ids", id]], document.getElementById("composer-state").dataset.url),
};

export const runCommand = (name) => ACTS[name](conversation());

export async function usePrompt(id) {
  const address = `/prompts/${id}/use/`;
  const answer = await fetch(address, { redirect: "error" }).catch(() => null);
  if (!answer?.ok) {
    forgetEntries();
    return tell(answer?.status === 404 ? GONE : FAILED);
  }
  if (answer.headers.get("Content-Type").startsWith("application/json")) return insertText((await answer.json()).text);
  await ask(address).catch(() => tell(FAILED));
}

async function ask(address) {
  document.getElementById("prompt-fill")?.remove();
  const dialog = await fetchDialog(address, "prompt-fill");
  if (document.querySelector(":modal")) return;
  dialog.showModal();
  const form = dialog.querySelector("form");
  const { clipboard } = form.dataset;
  form.addEventListener("submit", (event) => fillBlanks(event, dialog));
  if (clipboard) form.elements[clipboard].value ||= await navigator.clipboard?.readText().catch(() => "") ?? "";
}

async function fillBlanks(event, dialog) {
  event.preventDefault();
  const { target: form } = event;
  const body = new FormData(form);
  if (document.querySelector(".composer [name=temporary]:checked, #title[data-temporary]")) body.set("temporary", "");
  const answer = await fetch(form.action, { method: "POST", body, redirect: "error" }).catch(() => null);
  if (answer?.ok) {
    dialog.close();
    return insertText((await answer.json()).text);
  }
  const problem = form.querySelector(".problem");
  problem.textContent = answer?.status === 422 ? await answer.text() : answer?.status === 404 ? GONE : FAILED;
  problem.hidden = false;
}
