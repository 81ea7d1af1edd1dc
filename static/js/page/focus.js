// Moves the focus on when the pressed button disappears: Stop and Send replace each other, Allow and
// Deny disappear when pressed, and choosing one of several replies removes the others.

import { OURS } from "./untrusted-html.js";
import { focusBox } from "../composer/message-box.js";
import { isStreaming } from "./state.js";

const isNowhere = () => document.activeElement === document.body;

let hasChosen = false;
let answeredCall = ""; // the id of the tool call that was answered with the keyboard

document.addEventListener("click", ({ target, detail: clicks }) => {
  hasChosen = Boolean(target.closest?.(`.beside-choose${OURS}`));
  const call = target.closest?.(`.tool-answer > button${OURS}`)?.closest(".tool-call");
  if (call) answeredCall = clicks ? "" : call.id;
});

document.addEventListener("htmx:after:settle", ({ target, detail }) => {
  const call = answeredCall && detail.newContent.find(({ id }) => id === answeredCall);
  if (call && isNowhere()) call.querySelector("summary").focus({ preventScroll: true });
  if (hasChosen && target.id === "messages") {
    hasChosen = false;
    focusBox();
  }
  const isEnded = target.matches?.("[data-reply]:not([data-ending=streaming])");
  if (isEnded && !isStreaming() && (isNowhere() || document.activeElement?.matches(".stop"))) focusBox();
});
