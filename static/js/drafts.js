// Typed text is never lost: what a tab's box holds is kept by this browser for the account, by its
// conversation, and a prompt with it until the server has it. What a tab leaves behind goes to the
// next one that shows the conversation; whether it is still there says a lock, which ends with its
// page. (Browsers have locks in secure contexts; elsewhere drafts of other tabs are taken, too.)

import { keep, kept, names } from "./account.js";
import { newId } from "./ids.js";
import { edit, resume } from "./editing.js";
import { fillAbove, written } from "./message-box.js";
import { conversation } from "./page.js";
import { bubbleOf, putBack, unanswered } from "./prompt.js";

const RELOADED = "draft"; // in the tab's own storage: what it left behind when it was reloaded

const kind = () => `draft:${conversation() || "new"}`;
let name = ""; // of this tab's, where it shows what it shows now
let letGo = () => {};

function keepDraft() {
  const sent = unanswered();
  const edited = edit();
  const [text, pasted] = edited ? edited.aside : written();
  const draft = {
    text,
    pasted,
    sent: sent ? [sent.id, ...sent.parts] : undefined,
    edit: edited ? [edited.prompt, ...written()] : undefined,
  };
  keep(name, Object.values(draft).some(Boolean) ? JSON.stringify(draft) : "");
}

function begin() {
  letGo();
  name = `${kind()}:${newId()}`;
  const isLeft = new Promise((resolve) => { letGo = resolve; });
  navigator.locks?.request(name, () => isLeft);
}

function restore() {
  const mine = sessionStorage.getItem(RELOADED);
  sessionStorage.removeItem(RELOADED);
  begin();
  const ours = names().filter((one) => one === kind() || one.startsWith(`${kind()}:`));
  for (const one of ours) {
    if (one === mine || !navigator.locks) take(one);
    else takeIfLeft(one);
  }
  keepDraft();
}

function takeIfLeft(other) {
  const now = name;
  navigator.locks.request(other, { ifAvailable: true }, (lock) => {
    if (lock && name === now) take(other);
  });
}

function take(other) {
  const { text, pasted, sent, edit: edited } = JSON.parse(kept(other) ?? "{}");
  const isLost = sent && !bubbleOf(sent[0]);
  fillAbove(text, pasted);
  if (edited && (edited[1] || edited[2] || isLost)) resume(...edited);
  if (isLost) putBack(...sent);
  keepDraft();
  keep(other, "");
}

// What was typed for a conversation that is gone stays in the box, which is the new chat's now.
function moveOn() {
  fillAbove(...(unanswered()?.parts ?? []));
  keep(name, "");
}

document.addEventListener("chat:gone", moveOn);
document.addEventListener("chat:shown", restore);
document.addEventListener("chat:typed", keepDraft);
document.addEventListener("chat:answered", keepDraft);
document.addEventListener("chat:named", () => {
  keep(name, "");
  begin();
  keepDraft();
});
addEventListener("pagehide", () => kept(name) && sessionStorage.setItem(RELOADED, name));
