// Restores the scroll position after Back, Forward or a reload: the message that was at the top comes
// back to the same position; if the page does not have it, the messages around it are requested. A link
// to a conversation opens it at its end. Each history entry has its own position.

import { newId } from "../page/ids.js";
import { conversation } from "../page/state.js";
import { keep } from "./paging.js";

const RETURNS = ["reload", "back_forward"];

const scroller = () => document.getElementById("scroller");
const topOf = (element) => element.getBoundingClientRect().top - scroller().getBoundingClientRect().top;

let entry = null; // id of the current history entry
let place = null; // [id, top] to restore
let isAsked = false; // whether the messages around it were requested

const keyOf = (id) => `place:${id}`;
const readPlace = () => JSON.parse(sessionStorage.getItem(keyOf(history.state?.entry)));
const around = () => `${location.pathname}?around=${place[0].slice(-36)}`;

if (RETURNS.includes(performance.getEntriesByType("navigation")[0]?.type)) place = readPlace();

function remember() {
  const { scrollHeight, scrollTop, clientHeight } = scroller();
  const isAtEnd = scrollHeight - scrollTop - clientHeight < 1;
  const first = [...document.querySelectorAll("#messages > [id]")].find(
    (message) => topOf(message) + message.offsetHeight > 0,
  );
  if (isAtEnd || !first) sessionStorage.removeItem(keyOf(entry));
  else sessionStorage.setItem(keyOf(entry), JSON.stringify([first.id, topOf(first)]));
}

function restore() {
  const [id, top] = place;
  const message = document.getElementById(id);
  if (message) keep(message, top + scroller().getBoundingClientRect().top);
  return message;
}

// Gives an entry created by htmx an id.
function enter() {
  const state = { entry: newId(), ...history.state, htmx: true };
  history.replaceState(state, "");
  entry = state.entry;
}

addEventListener("pagehide", remember);
document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (ctx.target?.id !== "main" || ctx.request.action.includes("?around=")) return;
  place = "HX-History-Restore-Request" in ctx.request.headers ? readPlace() : null;
  isAsked = Boolean(place);
  if (isAsked) ctx.request.action = around();
});
document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => {
  if (ctx?.target?.id === "main") remember();
});
document.addEventListener("chat:shown", () => {
  enter();
  const isHere = !place || !conversation() || restore();
  if (isHere || isAsked) {
    place = null;
    isAsked = false;
  } else {
    isAsked = true;
    htmx.ajax("GET", around(), { target: "#main" });
  }
});
