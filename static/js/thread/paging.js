// The page holds a part of a long thread; earlier and later messages replace a link there when it comes
// near the visible part. The text in view and the focus keep their position. A page opened at a message
// scrolls to it and focuses it.

import { watch } from "../connection/socket.js";
import { OURS } from "../page/untrusted-html.js";
import { isFollowing, scrollBy } from "./scrolling.js";

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
export function keep(line, top) {
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
  keep(isFollowing() ? null : line, top); // the end keeps its place by itself
  const kind = link.matches(".later") ? ".later" : ".earlier";
  const next = messages().querySelector(`:scope > ${kind}`);
  if (isFocused) focusOn(next ?? line ?? messages().lastElementChild);
  // Frames that came while the last part was loading had no place; request them again.
  if (kind === ".later" && !next) watch();
});
