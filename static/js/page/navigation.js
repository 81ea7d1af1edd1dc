// Keeps what comes too late, or fails, from replacing the shown page: frames of another conversation, the
// response to an earlier request, and error pages.

import { endSignedOut, watch } from "../connection/socket.js";
import { refresh } from "../sidebar/conversation-list.js";
import { swapsOf } from "./htmx-socket.js";
import { conversation, say } from "./state.js";

const AWAY = "Can't reach the server, so this page is still shown. Try again in a moment.";
const READ = 8000; // ms

// ---- frames

// A turn sent before the person switched belongs to the previous page. The composer state in a frame says
// which conversation it is for (data-gone if it removes one); a frame without one changes a reply by its
// id, wherever that is.
document.addEventListener("htmx:before:swap", (event) => {
  const state = swapsOf(event).find(({ target }) => target?.id === "composer-state");
  const { conversation: brought, gone } = state?.fragment.firstElementChild?.dataset ?? {};
  if (gone ? gone === conversation() : !brought || isShown(brought)) return;
  event.preventDefault();
  watch();
  refresh();
});

// A new chat has no id before its first turn.
const isShown = (id) =>
  conversation() ? id === conversation() : document.querySelector("#messages > .pending");

// ---- responses: after another click, or Back, the page that was requested earlier is no longer wanted

let latest = null; // the latest request for the content of main

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (ctx.target?.id === "main") latest = ctx;
});

for (const type of ["htmx:before:response", "htmx:before:swap"]) {
  document.addEventListener(type, (event) => {
    const { ctx } = event.detail;
    if (latest && ctx?.target?.id === "main" && ctx !== latest) event.preventDefault();
  });
}

// ---- errors: error pages and redirects are opened as full pages. If the server does not answer, this page
// stays and says so.

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
