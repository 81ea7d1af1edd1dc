// What a row of the list over the message box does: it puts a prompt into the box, or activates a control.

import { change } from "../sidebar/conversation-actions.js";
import { openExport } from "../exports/dialog.js";
import { box } from "./message-box.js";
import { fetchDialog } from "../page/fetched-dialogs.js";
import { conversation } from "../page/state.js";
import { forget } from "./slash-index.js";
import { tell } from "../page/toast.js";

const GONE = "This prompt is no longer there, or no longer shared with you.";
const FAILED = "This prompt couldn't be loaded. Your text is kept. Try again in a moment.";

// Replaces the box's text, so that the browser's undo brings it back.
export function insert(text) {
  box().focus();
  box().select();
  const isDone = text ? document.execCommand("insertText", false, text) : document.execCommand("delete");
  if (isDone) return;
  box().value = text;
  box().dispatchEvent(new Event("input", { bubbles: true }));
}

export function press(selector) {
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

export const act = (name) => ACTS[name](conversation());

export async function use(id) {
  const address = `/prompts/${id}/use/`;
  const answer = await fetch(address, { redirect: "error" }).catch(() => null);
  if (!answer?.ok) {
    forget();
    return tell(answer?.status === 404 ? GONE : FAILED);
  }
  if (answer.headers.get("Content-Type").startsWith("application/json")) return insert((await answer.json()).text);
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
    return insert((await answer.json()).text);
  }
  const problem = form.querySelector(".problem");
  problem.textContent = answer?.status === 422 ? await answer.text() : answer?.status === 404 ? GONE : FAILED;
  problem.hidden = false;
}
