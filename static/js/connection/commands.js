// Keeps Stop, and what the person answered about tool calls, until their reply has ended, and sends them
// again after a reconnect, since a lost socket may have swallowed them. They never apply to another reply.

import { sendAgain } from "../page/htmx-socket.js";
import { streaming } from "../page/state.js";

const COMMANDS = ["stop", "allow", "always_allow", "deny"];

let waitingCommands = []; // [{message, replies}]: messages as sent, with the ids of the replies they apply to

function ofTheRunning() {
  const running = streaming();
  waitingCommands = waitingCommands.filter(({ replies }) => replies.some((reply) => running.includes(reply)));
  return waitingCommands.map(({ message }) => message);
}

export const isStopKept = () => ofTheRunning().some(({ values }) => values.action === "stop");

document.addEventListener("htmx:ws:before:message:outgoing", ({ detail: { message } }) => {
  if (!COMMANDS.includes(message.values.action)) return;
  const { values } = message;
  const replies = values.reply ? [values.reply] : streaming();
  if (replies.length === 1) [values.reply] = replies;
  ofTheRunning();
  waitingCommands.push({ message, replies });
});

document.addEventListener("htmx:ws:after:connection", () => ofTheRunning().forEach(sendAgain));
