// The page holds a part of a long thread; what comes before and after it takes the place of a link
// there when that is nearly seen. The reader's line stays where it is, and the focus where it was. A
// page that was opened at a message shows and focuses that one.

import { watch } from "./connection.js";
import { OURS } from "./foreign.js";
import { scrollBy } from "./scrolling.js";

const ABOVE = 72; // px left free above a message that is led to
const STILL = 3; // frames

const messages = () => document.getElementById("messages");
const scroller = () => document.getElementById("scroller");
const topOf = (element) => element.getBoundingClientRect().top;
const isEdge = (element) => element?.matches?.(`#messages > .edge${OURS}`);

let swap = null; // of a link that is about to be replaced: see `prepare`

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
  swapped.observe(messages(), { childList: true });
}

// The message that stands at the top, or is cut there.
function firstSeen() {
  const top = topOf(scroller());
  const isSeen = (one) => !isEdge(one) && one.getBoundingClientRect().bottom > top;
  return [...messages().children].find(isSeen);
}

// What has just come has its own height only once it is nearly seen (content-visibility): the line
// is put back before that is painted, until nothing has changed for some frames, or the reader
// scrolls on.
export function keep(line, top) {
  scroller().style.overflowAnchor = "none"; // or the browser would move it once more
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

// Before anything is painted, for which htmx's own events are too late.
const swapped = new MutationObserver(() => {
  const { link, line, top, isFocused } = swap;
  if (link.isConnected) return;
  swapped.disconnect();
  keep(line, top);
  const kind = link.matches(".later") ? ".later" : ".earlier";
  const next = messages().querySelector(`:scope > ${kind}`);
  if (isFocused) focusOn(next ?? line ?? messages().lastElementChild);
  // What came while the last of the thread was on its way went nowhere.
  if (kind === ".later" && !next) watch();
});
