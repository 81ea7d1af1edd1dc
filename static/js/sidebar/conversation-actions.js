// Actions on whole conversations, one or many: pin, archive, move, trash, restore. Callers say with
// `choose` which conversations are meant.

import { refresh } from "./conversation-list.js";
import { focusUndo, tell } from "../page/toast.js";

const FAILED = "That didn't work. Nothing was changed. Try again in a moment.";
const UNDONE_BY = {
  archive: "unarchive", unarchive: "archive", trash: "restore", pin: "unpin", unpin: "pin",
};

let chosen = new Map(); // id → the project that it is in, "" for none

export function choose(places) {
  chosen = places;
}

export async function change(action, fields = {}, places = chosen) {
  end(await ask({ action, ...fields }, [...places.keys()]), undoOf(action, fields, places));
}

async function ask(fields, ids) {
  const answer = await post(document.getElementById("lists").dataset.change, fields, ids);
  if (answer.ok) markOptions(fields, ids);
  return answer;
}

function end(answer, undo) {
  if (!answer.ok) return tell(answer.text);
  tell(answer.text, undo);
  document.dispatchEvent(new Event("chat:kept"));
  refresh();
}

function undoOf(action, { project: here = "" }, places) {
  if (action === "move") return () => moveBack(places, here && { project: here });
  return UNDONE_BY[action] ? () => change(UNDONE_BY[action], {}, places) : null;
}

// Moves each back to where it was, as one action: a selection may come from several lists.
async function moveBack(places, here) {
  const answers = [];
  for (const project of new Set(places.values())) {
    const ids = [...places.keys()].filter((id) => places.get(id) === project);
    answers.push(await ask({ action: "move", project }, ids));
  }
  const failed = answers.find(({ ok }) => !ok);
  const text = answers.length > 1 ? `${places.size} chats moved back.` : answers[0].text;
  end(failed ?? { ok: true, text }, () => change("move", here || {}, places));
}

// Returns {ok, text}: what was done, or why nothing was.
export async function post(url, fields, ids = []) {
  const body = new FormData();
  body.set("csrfmiddlewaretoken", document.querySelector("#selection [name=csrfmiddlewaretoken]").value);
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  for (const id of ids) body.append("ids", id);
  const headers = { "HX-Request": "true" };
  const answer = await fetch(url, { method: "POST", body, headers, redirect: "manual" }).catch(() => null);
  if (answer?.status === 404) return { ok: false, text: "This no longer exists." };
  const isSentence = answer?.ok || [422, 429].includes(answer?.status);
  return { ok: Boolean(answer?.ok), text: isSentence ? await answer.text() : FAILED };
}

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.closest?.("#lists, #project-chats")) focusUndo();
});

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-change]:not(#lists)");
  if (!button) return;
  button.closest("dialog")?.close();
  change(button.dataset.change, button.dataset.to ? { project: button.dataset.to } : {});
});

document.addEventListener("beforetoggle", ({ target, newState }) => {
  if (target.id === "move" && newState === "open") fillMove(target.querySelector("ul"));
}, true);

function fillMove(list) {
  const projects = [...document.querySelectorAll("#project-list [data-project]")];
  const every = [["", "No project"], ...projects.map((one) => [one.dataset.project, one.textContent])];
  const places = every.filter(([pk]) => [...chosen.values()].some((from) => from !== pk));
  list.replaceChildren(...places.map(([pk, name]) => placeOf(pk, name)));
  list.hidden = !places.length;
  list.nextElementSibling.hidden = !list.hidden;
}

function placeOf(pk, name) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", textContent: name.trim(), dir: "auto" });
  Object.assign(button.dataset, { change: "move", to: pk });
  const item = document.createElement("li");
  item.append(button);
  return item;
}

// The button of the shown conversation's menu knows where the conversation is.
function markOptions({ action, project }, ids) {
  const { dataset } = document.getElementById("chat-options");
  if (!ids.includes(dataset.id)) return;
  if (action === "pin") dataset.pinned = "";
  if (action === "unpin") delete dataset.pinned;
  if (action === "archive") dataset.folder = "archive";
  if (action === "unarchive") dataset.folder = "list";
  if (action === "move") dataset.project = project;
}
