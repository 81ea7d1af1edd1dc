// Pages that cannot be shown in this one: an error's and one that was redirected to are opened as
// pages of their own; where there is no answer, this page stays and says so.

import { endSignedOut } from "./connection.js";
import { say } from "./page.js";

const AWAY = "The server can't be reached, so this page stays as it is. Try again in a moment.";
const READ = 8000; // ms

document.addEventListener("htmx:before:response", (event) => {
  const { response, request, target } = event.detail.ctx;
  if (!response.raw.redirected && response.status < 400) return;
  event.preventDefault();
  if (target.id === "main") location.assign(request.action);
  else if (response.raw.redirected) endSignedOut();
});

document.addEventListener("htmx:error", ({ detail }) => {
  if (detail.ctx?.target?.id !== "main") return;
  say(AWAY);
  setTimeout(unsay, READ);
});

document.addEventListener("chat:connection", unsay);

// Once it can be reached, which the heartbeat sees to.
function unsay() {
  const isBack = document.getElementById("app").dataset.connection === "open";
  if (isBack && document.getElementById("problem").textContent === AWAY) say("");
}
