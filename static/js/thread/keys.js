// Scrolls the thread with PageUp, PageDown, Home, End, Space and the arrows, unless the focused element
// uses these keys itself. In the message box, PageUp and PageDown scroll the thread as long as the box
// itself can't scroll.

import { box } from "../composer/message-box.js";
import { scrollBy } from "./scrolling.js";

const LINE = 40; // px, as in browsers
const PAGE = 0.875; // of the visible height
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
// Elements that use all of these keys, and elements that use only Space.
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

// Whether the element is inside something else that scrolls: the sidebar's list, or a code block.
function scrollsBesides(element) {
  for (let one = element; one && one !== scroller(); one = one.parentElement) {
    if (canScroll(one) && /auto|scroll/.test(getComputedStyle(one).overflowY)) return true;
  }
  return false;
}
