// Stop, Allow and Deny are kept until their reply has ended: said once more where a lost socket may
// have swallowed them, and of no other reply.

import { sendAgain } from "./htmx-socket.js";
import { streaming } from "./page.js";

const COMMANDS = ["stop", "allow", "deny"];

let kept = []; // the messages, as they were sent

function ofTheRunning() {
  kept = kept.filter(({ values }) => values.reply === streaming());
  return kept;
}

export const isStopKept = () => ofTheRunning().some(({ values }) => values.action === "stop");

document.addEventListener("htmx:ws:before:message:outgoing", ({ detail: { message } }) => {
  if (!COMMANDS.includes(message.values.action)) return;
  message.values.reply ??= streaming();
  kept = [...ofTheRunning(), message];
});

document.addEventListener("htmx:ws:after:connection", () => ofTheRunning().forEach(sendAgain));
