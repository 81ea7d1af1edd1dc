// Pages that can't be shown inside this one: error pages and redirects are opened as full pages. If
// the server does not answer, this page stays and says so.

import { endSignedOut } from "../connection/socket.js";
import { say } from "./state.js";

const AWAY = "Can't reach the server, so this page is still shown. Try again in a moment.";
const READ = 8000; // ms

document.addEventListener("htmx:before:response", (event) => {
  const { response, request, target } = event.detail.ctx;
  if (!response.raw.redirected && response.status < 400) return;
  event.preventDefault();
  if (target.id === "main") location.assign(request.action);
  else if (response.raw.redirected) endSignedOut();
});

document.addEventListener("chat:signed-out", endSignedOut);

document.addEventListener("htmx:error", ({ detail }) => {
  if (detail.ctx?.target?.id !== "main") return;
  say(AWAY);
  setTimeout(unsay, READ);
});

document.addEventListener("chat:connection", unsay);

// Clears the line once the server can be reached; the heartbeat detects that.
function unsay() {
  const isBack = document.getElementById("app").dataset.connection === "open";
  if (isBack && document.getElementById("problem").textContent === AWAY) say("");
}
