// Keeps the thread at its end while a reply streams, until a person scrolls away; a button leads back.
//
// The browser moves the thread, too, to fit a new layout. That also changes a height, so a move up
// without one is somebody's: by a selection, find-in-page or a screen reader. Input that can meet a new
// layout stops at once, before the thread has moved.

import { GROWS_BY_ITSELF } from "../composer/message-box.js";

const NEAR = 32; // px from the end that still count as the end
const LATER = "#messages > .later";

let scroller = null;
let isPinned = true;
let last = null; // the place when it was last looked at

// Whether the page contains the end of the thread.
const hasEnd = () => !document.querySelector(LATER);
const distance = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
const isAtEnd = (near) => distance() < near && hasEnd();
const place = () => ({ top: scroller.scrollTop, height: scroller.scrollHeight, visible: scroller.clientHeight });

const resizeObserver = new ResizeObserver(stay);

document.addEventListener("chat:shown", () => {
  resizeObserver.disconnect();
  scroller = document.getElementById("scroller");
  scroller.addEventListener("scroll", onScroll, { passive: true });
  watchForScrollingUp(scroller, leave);
  resizeObserver.observe(scroller);
  resizeObserver.observe(document.getElementById("messages"));
  toEnd();
});

// Without field-sizing, the box shrinks for a moment to measure itself: the thread moves, no height changes.
if (!GROWS_BY_ITSELF) document.addEventListener("chat:typed", () => scroller && stay());

document.addEventListener("htmx:ws:before:message:outgoing", ({ detail }) => {
  if (["prompt", "edit", "continue", "retry"].includes(detail.message.values.action)) isPinned = true;
});

document.addEventListener("click", ({ target }) => {
  if (!target.closest?.("[data-to-latest]")) return;
  if (hasEnd()) return toEnd();
  const later = document.querySelector(LATER);
  htmx.ajax("GET", later.dataset.newest, { target: "#main", push: later.pathname });
});

function stay() {
  if (isPinned) toEnd();
  else drawButton();
}

function onScroll() {
  const before = last;
  last = place();
  const isResized = last.height !== before.height || last.visible !== before.visible;
  if (last.top > before.top && isAtEnd(NEAR)) isPinned = true;
  else if (last.top < before.top && !(isPinned && isResized)) isPinned = isAtEnd(1);
  stay();
}

// Stops following, since what a person did to the target moves the thread up.
function leave(target) {
  if (scroller.scrollTop > 0 && !scrollsInside(target)) isPinned = false;
}

// Whether an element inside the thread scrolls up before the thread does.
function scrollsInside(element) {
  for (let inner = element; inner && inner !== scroller; inner = inner.parentElement) {
    if (inner.scrollTop > 0) return true;
  }
  return false;
}

function toEnd() {
  isPinned = true;
  scroller.scrollTop = scroller.scrollHeight;
  last = place();
  drawButton();
}

export const isFollowing = () => isPinned;

// Scrolls the thread by a number of pixels.
export function scrollBy(pixels) {
  scroller.scrollTop += pixels;
  isPinned = isAtEnd(1);
}

function drawButton() {
  const button = document.querySelector("[data-to-latest]");
  const isHidden = isPinned || isAtEnd(NEAR);
  if (button.hidden !== isHidden) button.hidden = isHidden;
}

// ---- input that is about to scroll an element up, before anything has moved: the wheel, a finger, or the
// scrollbar. Keys are those of keys.js.

const SCROLLBAR = 16; // px: at least its width
const SLOP = 10; // px that a finger may move in a tap

// Calls `tell` with the element under the input.
function watchForScrollingUp(scroller, tell) {
  let finger = null; // the touch at its highest place
  const passive = { passive: true };

  scroller.addEventListener("wheel", ({ deltaY, ctrlKey, target }) => {
    if (deltaY < 0 && !ctrlKey) tell(target);
  }, passive);

  scroller.addEventListener("touchstart", ({ touches }) => {
    [finger] = touches;
  }, passive);

  scroller.addEventListener("touchmove", ({ touches, target }) => {
    const down = touches[0].clientY - finger.clientY;
    const across = Math.abs(touches[0].clientX - finger.clientX);
    if (down < 0) [finger] = touches;
    else if (down > SLOP && down > across && touches.length === 1) tell(target);
  }, passive);

  scroller.addEventListener("pointerdown", ({ target, offsetX, pointerType }) => {
    const isScrollbar = target === scroller && offsetX > scroller.offsetWidth - SCROLLBAR;
    if (isScrollbar && pointerType === "mouse") tell(target);
  }, passive);
}
