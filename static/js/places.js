// Who comes back to a conversation, by Back, Forward or a reload, is where they read: at the message
// that stood first, as far down as it stood, around which the page is asked for where it has that one
// not. Who opens it by its link sees its end. Each entry of a tab's history has a place of its own.

import { newId } from "./ids.js";
import { conversation } from "./page.js";
import { keep } from "./reading.js";

const RETURNS = ["reload", "back_forward"];

const scroller = () => document.getElementById("scroller");
const topOf = (element) => element.getBoundingClientRect().top - scroller().getBoundingClientRect().top;

let entry = null; // of the history, whose page is shown
let place = null; // to be returned to, as [id, top]
let isAsked = false; // whether its page was asked for around it

const keyOf = (id) => `place:${id}`;
const kept = () => JSON.parse(sessionStorage.getItem(keyOf(history.state?.entry)));
const around = () => `${location.pathname}?around=${place[0].slice(-36)}`;

if (RETURNS.includes(performance.getEntriesByType("navigation")[0]?.type)) place = kept();

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

// An entry that htmx makes has none of this yet.
function enter() {
  const state = { entry: newId(), ...history.state, htmx: true };
  history.replaceState(state, "");
  entry = state.entry;
}

addEventListener("pagehide", remember);
document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (ctx.target?.id !== "main" || ctx.request.action.includes("?around=")) return;
  place = "HX-History-Restore-Request" in ctx.request.headers ? kept() : null;
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
