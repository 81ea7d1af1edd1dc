// Stop is kept until it was done: said once more where a lost socket may have swallowed it, and only
// of the reply that was to be stopped.

import { sendAgain } from "./htmx-socket.js";
import { streaming } from "./page.js";

let stop = null; // the message, as it was sent

export const isStopKept = () => Boolean(stop) && streaming() === stop.values.reply;

document.addEventListener("htmx:ws:before:message:outgoing", ({ detail: { message } }) => {
  if (message.values.action !== "stop") return;
  message.values.reply = streaming();
  stop = message;
});

document.addEventListener("htmx:ws:after:connection", () => {
  if (isStopKept()) sendAgain(stop);
});
