// Who comes back to a conversation, by Back, Forward or a reload, is where they read: at the message
// that stood first, as far down as it stood. Who opens it by its link sees its end. A tab keeps the
// places of its own.

import { conversation } from "./page.js";
import { scrollBy } from "./scrolling.js";

const RETURNS = ["reload", "back_forward"];

const key = () => `place:${conversation()}`;
const scroller = () => document.getElementById("scroller");
const topOf = (element) => element.getBoundingClientRect().top - scroller().getBoundingClientRect().top;

let returns = RETURNS.includes(performance.getEntriesByType("navigation")[0]?.type);

function remember() {
  const { scrollHeight, scrollTop, clientHeight } = scroller();
  const isAtEnd = scrollHeight - scrollTop - clientHeight < 1;
  const first = [...document.querySelectorAll("#messages > [id]")].find(
    (message) => topOf(message) + message.offsetHeight > 0,
  );
  if (isAtEnd || !first) sessionStorage.removeItem(key());
  else sessionStorage.setItem(key(), JSON.stringify([first.id, topOf(first)]));
}

function restore() {
  const [id, top] = JSON.parse(sessionStorage.getItem(key()) ?? "[]");
  const message = id && document.getElementById(id);
  if (message) scrollBy(topOf(message) - top);
}

addEventListener("pagehide", remember);
document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (ctx.target?.id === "main") returns = "HX-History-Restore-Request" in ctx.request.headers;
});
document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => {
  if (ctx?.target?.id === "main") remember();
});
document.addEventListener("chat:shown", () => {
  if (returns && conversation()) restore();
  returns = false;
});
