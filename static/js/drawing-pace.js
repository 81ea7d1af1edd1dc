// A page draws no more often than it can afford: after a frame that showed something new, what comes
// next waits for as many times as long as such a frame takes, so that typing and scrolling stay quick
// on a slow machine. On a usual one that is less than the time between two tokens.

const REST = 4; // times as long as a frame takes
const LONGEST = 100; // ms that anything waits
const MEASURED = 10; // one frame in so many

let frames = 0;
let rest = 0; // ms
let dueAt = 0;
let isAsked = false; // for a frame

document.addEventListener("htmx:ws:before:message:incoming", ({ detail }) => {
  const wait = dueAt - performance.now();
  if (wait > 0) detail.waitUntil(new Promise((resolve) => setTimeout(resolve, wait)));
});

document.addEventListener("htmx:before:swap", () => {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(beginFrame);
});

function beginFrame() {
  isAsked = false;
  dueAt = performance.now() + rest;
  if (++frames % MEASURED === 0) measure(performance.now());
}

// A message comes once the frame is drawn.
function measure(startedAt) {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    rest = Math.min(LONGEST, (REST + 1) * (performance.now() - startedAt));
  };
  port2.postMessage(null);
}
