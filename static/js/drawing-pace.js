// A page draws no more often than it can afford: after a frame that showed something new, what comes
// next waits for as many times as long as such a frame takes, so that typing and scrolling stay quick
// on a slow machine. On a usual one that is less than the time between two tokens.

import { keep, write } from "./added-text.js";

const REST = 10; // times as long as a frame takes, itself among them
const LONGEST = 100; // ms that anything waits
const TOGETHER = 8; // ms: what comes so soon after something is in the same frame
const MEASURED = 10; // one time in so many

let writes = 0;
let rest = 0; // ms
let shownAt = -Infinity;
let isTimed = false; // what is kept

document.addEventListener("htmx:ws:before:message:incoming", (event) => {
  const { message, waitUntil } = event.detail;
  if (keep(message.data)) {
    event.preventDefault();
    writeInTime();
  } else {
    const ms = wait();
    if (ms > 0) waitUntil(new Promise((resolve) => setTimeout(resolve, ms)).then(write));
    else write();
  }
});

document.addEventListener("htmx:before:swap", show);

// A page that nobody sees draws nothing, and its timers are slow.
function wait() {
  const since = performance.now() - shownAt;
  return since < TOGETHER || document.hidden ? 0 : rest - since;
}

function writeInTime() {
  const ms = wait();
  if (ms <= 0) return writeNow();
  if (!isTimed) setTimeout(writeNow, ms);
  isTimed = true;
}

function writeNow() {
  const startedAt = performance.now();
  isTimed = false;
  write();
  show();
  if (++writes % MEASURED === 0) measure(startedAt);
}

function show() {
  const now = performance.now();
  if (now - shownAt >= TOGETHER) shownAt = now;
}

// Layout is asked for here, since it would come before or in the frame, by what has the focus. The
// message comes once the frame is drawn.
function measure(startedAt) {
  document.body.getBoundingClientRect();
  const written = performance.now() - startedAt;
  requestAnimationFrame(() => {
    const beganAt = performance.now();
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      rest = Math.min(LONGEST, REST * (written + performance.now() - beganAt));
    };
    port2.postMessage(null);
  });
}
