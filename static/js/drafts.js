// Typed text is never lost: what a tab's box holds is kept by this browser for the account, by its
// conversation, and a prompt with it until the server has it. What a tab leaves behind goes to the
// next one that shows the conversation; whether it is still there says a lock, which ends with its
// page. (Browsers have locks in secure contexts; elsewhere drafts of other tabs are taken, too.)

import { keep, kept, names } from "./account.js";
import { newId } from "./ids.js";
import { box, fillAbove } from "./message-box.js";
import { conversation } from "./page.js";
import { bubbleOf, putBack, unanswered } from "./prompt.js";

const RELOADED = "draft"; // in the tab's own storage: what it left behind when it was reloaded

const kind = () => `draft:${conversation() || "new"}`;
let name = ""; // of this tab's, where it shows what it shows now
let letGo = () => {};

function keepDraft() {
  const sent = unanswered();
  const draft = { text: box().value, sent: sent ? [sent.id, sent.text] : undefined };
  keep(name, draft.text || draft.sent ? JSON.stringify(draft) : "");
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
  const { text, sent } = JSON.parse(kept(other) ?? "{}");
  fillAbove(text);
  if (sent && !bubbleOf(sent[0])) putBack(...sent);
  keepDraft();
  keep(other, "");
}

// What was typed for a conversation that is gone stays in the box, which is the new chat's now.
function moveOn() {
  fillAbove(unanswered()?.text);
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
