// Limits how often the page draws: after a frame that showed something new, the next update waits a
// multiple of the time that such a frame takes, so that typing and scrolling stay fast on a slow machine.
// On a typical one the wait is shorter than the time between two tokens.
//
// Plain text from streaming replies is appended to the page here. Most frames only add words, and htmx
// would parse two documents for each, mark the page and fire events.

const REST = 10; // multiple of a frame's duration, the frame included
const MAX_LENGTH = 100; // ms
const TOGETHER = 8; // ms: updates this close are in the same frame
const MEASURED = 10; // every n-th write is measured

let writes = 0;
let pauseMs = 0; // ms
let shownAt = -Infinity;
let isTimed = false; // a timer will write what is queued

document.addEventListener("htmx:ws:before:message:incoming", (event) => {
  const { message, waitUntil } = event.detail;
  if (queueText(message.data)) {
    event.preventDefault();
    writeInTime();
  } else {
    const ms = wait();
    if (ms > 0) waitUntil(new Promise((resolve) => setTimeout(resolve, ms)).then(writeText));
    else writeText();
  }
});

document.addEventListener("htmx:before:swap", show);

// A hidden page draws nothing, and its timers are throttled.
function wait() {
  const since = performance.now() - shownAt;
  return since < TOGETHER || document.hidden ? 0 : pauseMs - since;
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
  writeText();
  show();
  if (++writes % MEASURED === 0) measure(startedAt);
}

function show() {
  const now = performance.now();
  if (now - shownAt >= TOGETHER) shownAt = now;
}

// Forces layout here, because depending on the focus it would otherwise run before or in the frame.
// The message arrives once the frame is drawn.
function measure(startedAt) {
  document.body.getBoundingClientRect();
  const written = performance.now() - startedAt;
  requestAnimationFrame(() => {
    const beganAt = performance.now();
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      pauseMs = Math.min(MAX_LENGTH, REST * (written + performance.now() - beganAt));
    };
    port2.postMessage(null);
  });
}

// ---- plain text. It is appended to the existing text node, so that a paragraph is one node and not one per
// token; a word that wraps to the next line while it is completed is then not a node that moves.

// As chatapp/rendering/fragments/swaps.py writes it, if it contains only text.
const ADDED = /^<template hx-swap-oob="append target:([^" ]+)">([^<]*)<\/template>$/;

const decoder = document.createElement("template");
let queuedTexts = []; // [{selector, escaped}] in order of arrival

// Queues a frame's text until `writeText`. Returns whether the frame only adds text.
function queueText(frame) {
  const [, selector, escaped] = ADDED.exec(frame) ?? [];
  if (!selector) return false;
  const last = queuedTexts.at(-1);
  if (last?.selector === selector) last.escaped += escaped;
  else queuedTexts.push({ selector, escaped });
  return true;
}

function writeText() {
  for (const { selector, escaped } of queuedTexts.splice(0)) {
    appendText(document.querySelector(selector), escaped.includes("&") ? decode(escaped) : escaped);
  }
}

function appendText(element, text) {
  const last = element?.lastChild;
  if (last?.nodeType === Node.TEXT_NODE) last.appendData(text);
  else element?.append(text);
}

function decode(escaped) {
  decoder.innerHTML = escaped;
  return decoder.content.textContent;
}
