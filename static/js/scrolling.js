// Keeps the thread at its end while a reply streams, unless the person has scrolled away; a button
// leads back.

const NEAR = 32; // px from the end that still count as the end
const LATER = "#messages > .later";

let scroller = null;
let isPinned = true;
let lastTop = 0;

// Whether the page contains the end of the thread.
const hasEnd = () => !document.querySelector(LATER);
const distance = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
const isAtEnd = (near) => distance() < near && hasEnd();

const resized = new ResizeObserver(() => {
  if (isPinned) toEnd();
  else drawButton();
});

document.addEventListener("chat:shown", () => {
  resized.disconnect();
  scroller = document.getElementById("scroller");
  scroller.addEventListener("scroll", scrolled, { passive: true });
  scroller.addEventListener("wheel", (event) => {
    if (event.deltaY < 0 && scroller.scrollHeight > scroller.clientHeight) isPinned = false;
  }, { passive: true });
  resized.observe(scroller);
  resized.observe(document.getElementById("messages"));
  toEnd();
});

document.addEventListener("htmx:ws:before:message:outgoing", ({ detail }) => {
  if (["prompt", "edit", "continue", "retry"].includes(detail.message.values.action)) isPinned = true;
});

document.addEventListener("click", ({ target }) => {
  if (!target.closest?.("[data-to-latest]")) return;
  if (hasEnd()) return toEnd();
  const later = document.querySelector(LATER);
  htmx.ajax("GET", later.dataset.newest, { target: "#main", push: later.pathname });
});

function scrolled() {
  const top = scroller.scrollTop;
  if (top < lastTop) isPinned = isAtEnd(1);
  else if (isAtEnd(NEAR)) isPinned = true;
  lastTop = top;
  drawButton();
}

function toEnd() {
  isPinned = true;
  scroller.scrollTop = scroller.scrollHeight;
  lastTop = scroller.scrollTop;
  drawButton();
}

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
