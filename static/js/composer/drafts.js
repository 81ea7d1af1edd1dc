// Never loses typed text: the browser stores the content of each tab's message box per account and
// conversation, the settings of a new chat, and a prompt until the server has it. A closed tab's draft
// goes to the next tab that shows the conversation. A lock, released with its page, says whether a tab
// is still open. (Browsers only have locks in secure contexts; elsewhere, other tabs' drafts are taken
// too.)

import { keep, readKept, names } from "../account/storage.js";
import { draftSettings, takeSettings } from "../settings/draft.js";
import { newId } from "../page/ids.js";
import { box, fillAbove, joinParagraphs } from "./message-box.js";
import { conversation } from "../page/state.js";
import { bubbleOf, unanswered } from "./pending-prompt.js";
import { putBack, reopenEditor } from "./prompt.js";
import { OURS } from "../page/untrusted-html.js";

const RELOADED = "draft"; // in sessionStorage: the draft's name across a reload

const kind = () => `draft:${conversation() || "new"}`;
let name = ""; // of this tab's draft for what it shows now
let letGo = () => {};

function keepDraft() {
  const sent = unanswered();
  const { edited, message, attached } = document.querySelector(`.editor${OURS}`)?.elements ?? {};
  const draft = {
    text: box().value,
    sent: sent ? [sent.id, sent.text] : undefined,
    sentEdit: sent?.edited,
    edit: edited ? [edited.value, message.value, attached.value] : undefined,
    settings: draftSettings(),
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
    if (one === mine || !navigator.locks) restoreDraft(one);
    else restoreIfLeft(one);
  }
  keepDraft();
}

function restoreIfLeft(other) {
  const now = name;
  navigator.locks.request(other, { ifAvailable: true }, (lock) => {
    if (lock && name === now) restoreDraft(other);
  });
}

function restoreDraft(other) {
  const { text, pasted, sent, sentEdit, edit: edited, settings } = JSON.parse(readKept(other) ?? "{}");
  const isLost = sent && !bubbleOf(sent[0]);
  fillAbove(joinParagraphs(text, pasted)); // version 0.5 kept a long paste apart
  if (isLost) putBack(sent[0], joinParagraphs(...sent.slice(1)), edited ? "" : sentEdit);
  if (edited) reopenEditor(...edited);
  restoreSettings(settings);
  keepDraft();
  keep(other, "");
}

function restoreSettings(settings) {
  const { draft, settings_of: model } = takeSettings(settings) ?? {};
  if (draft) import("../settings/panel.js").catch(() => {}); // counts them
  if (model) document.getElementById("settings-opener").click(); // they are of one model
}

// Text typed for a deleted conversation stays in the box, which now belongs to the new chat.
function moveOn() {
  fillAbove(unanswered()?.text);
  keep(name, "");
}

document.addEventListener("chat:gone", moveOn);
document.addEventListener("chat:shown", restore);
document.addEventListener("chat:typed", keepDraft);
document.addEventListener("chat:chosen", keepDraft);
document.addEventListener("chat:answered", keepDraft);
document.addEventListener("chat:named", () => {
  keep(name, "");
  begin();
  keepDraft();
});
addEventListener("pagehide", () => readKept(name) && sessionStorage.setItem(RELOADED, name));
