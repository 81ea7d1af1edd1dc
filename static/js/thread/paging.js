// Where the reader is in a thread of which the page holds a part. Earlier and later messages replace a
// link there when it comes near the visible part. The text in view and the focus keep their position. A
// page opened at a message scrolls to it and focuses it.
//
// After Back, Forward or a reload, the message that was at the top comes back to the same position; if
// the page does not have it, the messages around it are requested. A link to a conversation opens it at
// its end. Each history entry has its own position.

import { watch } from "../connection/socket.js";
import { OURS } from "../page/untrusted-html.js";
import { isFollowing, scrollBy } from "./scrolling.js";
import { newId } from "../page/ids.js";
import { conversation } from "../page/state.js";

const ABOVE = 72; // px of space above the message
const STILL = 3; // frames without a change

const messages = () => document.getElementById("messages");
const scroller = () => document.getElementById("scroller");
const topOf = (element) => element.getBoundingClientRect().top;
const isEdge = (element) => element?.matches?.(`#messages > .edge${OURS}`);

let swap = null; // the link that is about to be replaced: see `prepare`

document.addEventListener("chat:shown", () => {
  const { at } = messages().dataset;
  const message = at && document.querySelector(`#reply-${at}, #m-${at}`);
  if (message) lead(message);
});

function lead(message) {
  message.classList.add("led-to");
  focusOn(message);
  scrollBy(topOf(message) - topOf(scroller()) - ABOVE);
}

function focusOn(element) {
  if (!element.matches("a")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

document.addEventListener("htmx:before:swap", ({ detail }) => {
  const link = detail.ctx.sourceElement;
  if (isEdge(link)) prepare(link);
});

function prepare(link) {
  const line = link.matches(".earlier") ? firstSeen() : null;
  swap = { link, line, top: line && topOf(line), isFocused: link === document.activeElement };
  scroller().style.overflowAnchor = "none";
  swapObserver.observe(messages(), { childList: true });
}

// The first visible message, perhaps cut off at the top.
function firstSeen() {
  const top = topOf(scroller());
  const isSeen = (one) => !isEdge(one) && one.getBoundingClientRect().bottom > top;
  return [...messages().children].find(isSeen);
}

// Keeps `line` at `top`. New messages get their real height only near the visible part
// (content-visibility), so the position is corrected before each paint, until nothing has changed for
// some frames or the reader scrolls.
function keepInPlace(line, top) {
  scroller().style.overflowAnchor = "none"; // or the browser would adjust it, too
  let at = scroller().scrollTop;
  let still = 0;
  const isLeft = () => scroller().scrollTop !== at;
  const stay = () => {
    if (isLeft()) return;
    if (line?.isConnected) scrollBy(topOf(line) - top);
    at = scroller().scrollTop;
    still = 0;
  };
  const resized = new ResizeObserver(stay);
  const wait = () => {
    still += 1;
    if (still <= STILL && !isLeft()) return requestAnimationFrame(wait);
    resized.disconnect();
    scroller().style.overflowAnchor = "";
  };
  stay();
  resized.observe(messages());
  requestAnimationFrame(wait);
}

// Runs before the next paint; htmx's own events come too late.
const swapObserver = new MutationObserver(() => {
  const { link, line, top, isFocused } = swap;
  if (link.isConnected) return;
  swapObserver.disconnect();
  keepInPlace(isFollowing() ? null : line, top); // the end keeps its place by itself
  const kind = link.matches(".later") ? ".later" : ".earlier";
  const next = messages().querySelector(`:scope > ${kind}`);
  if (isFocused) focusOn(next ?? line ?? messages().lastElementChild);
  // Frames that came while the last part was loading had no place; request them again.
  if (kind === ".later" && !next) watch();
});

// ---- coming back

const RETURNS = ["reload", "back_forward"];

const topInScroller = (element) => topOf(element) - topOf(scroller());

let entry = null; // id of the current history entry
let savedPlace = null; // [id, top] to restore
let isAsked = false; // whether the messages around it were requested

const keyOf = (id) => `place:${id}`;
const readPlace = () => JSON.parse(sessionStorage.getItem(keyOf(history.state?.entry)));
const around = () => `${location.pathname}?around=${savedPlace[0].slice(-36)}`;

if (RETURNS.includes(performance.getEntriesByType("navigation")[0]?.type)) savedPlace = readPlace();

function remember() {
  const { scrollHeight, scrollTop, clientHeight } = scroller();
  const isAtEnd = scrollHeight - scrollTop - clientHeight < 1;
  const first = [...document.querySelectorAll("#messages > [id]")].find(
    (message) => topInScroller(message) + message.offsetHeight > 0,
  );
  if (isAtEnd || !first) sessionStorage.removeItem(keyOf(entry));
  else sessionStorage.setItem(keyOf(entry), JSON.stringify([first.id, topInScroller(first)]));
}

function restore() {
  const [id, top] = savedPlace;
  const message = document.getElementById(id);
  if (message) keepInPlace(message, top + topOf(scroller()));
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
  savedPlace = "HX-History-Restore-Request" in ctx.request.headers ? readPlace() : null;
  isAsked = Boolean(savedPlace);
  if (isAsked) ctx.request.action = around();
});
document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => {
  if (ctx?.target?.id === "main") remember();
});
document.addEventListener("chat:shown", () => {
  enter();
  const isHere = !savedPlace || !conversation() || restore();
  if (isHere || isAsked) {
    savedPlace = null;
    isAsked = false;
  } else {
    isAsked = true;
    htmx.ajax("GET", around(), { target: "#main" });
  }
});
