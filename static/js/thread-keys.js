// The thread scrolls by its keys from wherever the focus is that has no use for them: PageUp and
// PageDown, Home, End, Space and the arrows. From the message box the pages do, while that has
// nothing to scroll itself.

import { box } from "./message-box.js";
import { scrollBy } from "./scrolling.js";

const LINE = 40; // px, as browsers scroll by an arrow
const PAGE = 0.875; // of what is seen
const ALL = 1e9; // px
const STEPS = {
  ArrowUp: () => -LINE,
  ArrowDown: () => LINE,
  PageUp: () => -page(),
  PageDown: () => page(),
  " ": ({ shiftKey }) => (shiftKey ? -page() : page()),
  Home: () => -ALL,
  End: () => ALL,
};
// What has a use for them all, and what for Space alone.
const TAKES_KEYS =
  "input, textarea, select, [contenteditable], dialog, [popover], [role=menu], [role=listbox]";
const TAKES_SPACE = "button, summary, [role=button]";

const scroller = () => document.getElementById("scroller");
const page = () => Math.round(PAGE * scroller().clientHeight);
const canScroll = (element) => element.scrollHeight > element.clientHeight + 1;

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  const step = STEPS[key];
  if (!step || event.defaultPrevented || isTaken(target, key)) return;
  if (event.ctrlKey || event.metaKey || event.altKey || isCovered()) return;
  event.preventDefault();
  scrollBy(step(event));
});

const isCovered = () =>
  document.getElementById("main").inert || document.querySelector(":modal, :popover-open");

function isTaken(target, key) {
  if (target === box()) return !key.startsWith("Page") || canScroll(target);
  if (target.closest(TAKES_KEYS) || (key === " " && target.closest(TAKES_SPACE))) return true;
  return scrollsBesides(target);
}

// The sidebar's list, or a block of code that is cut.
function scrollsBesides(element) {
  for (let one = element; one && one !== scroller(); one = one.parentElement) {
    if (canScroll(one) && /auto|scroll/.test(getComputedStyle(one).overflowY)) return true;
  }
  return false;
}
