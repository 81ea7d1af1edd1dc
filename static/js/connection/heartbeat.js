// Detects a silent network, which closes no socket; scripts can't see the server's pings. While the
// page is visible or a reply streams, it sends a beat after two seconds of silence; without an answer,
// the connection counts as lost. A hidden page sends one as soon as it becomes visible.
//
// It counts ticks, not time: a page that was busy or asleep first handles what has arrived.

import { lose } from "./socket.js";
import { isOpen, isOpening, send, unsentBytes } from "../page/htmx-socket.js";
import { isStreaming } from "../page/state.js";

const TICK = 1000; // ms; the numbers below are in ticks
const ASKS = 2; // of silence before it sends a beat
const ANSWERED = 2, OPENED = 4, MAX_LENGTH = 30; // time limits for an answer and for opening a socket
const ANSWER = "<!---->"; // chatapp/server/adapter/socket_protocol.py

let quiet = 0; // ticks since anything was received
let askedAt = null; // `quiet` when the beat was sent
let patience = ANSWERED; // grows if it was too short: a large frame on a slow line looks like silence
let tries = 0; // failed tries to open a socket
let unsent = 0; // bytes

function tick() {
  const before = unsent;
  unsent = unsentBytes();
  quiet += 1;
  if (unsent < before) resetSilence(); // a long prompt is still being sent
  if (isOpening()) awaitSocket();
  else if (isOpen() && (isStreaming() || !document.hidden)) awaitWord();
  else resetSilence();
}

function resetSilence() {
  quiet = 0;
  askedAt = null;
}

function awaitSocket() {
  if (quiet < Math.min(OPENED + tries, MAX_LENGTH)) return;
  tries += 1;
  end();
}

function awaitWord() {
  if (askedAt === null && quiet >= ASKS) return ask();
  if (askedAt === null || quiet < askedAt + patience) return;
  patience = Math.min(2 * patience, MAX_LENGTH);
  end();
}

function end() {
  resetSilence();
  lose();
}

function ask() {
  if (!isOpen() || askedAt !== null) return;
  askedAt = quiet;
  send({ action: "beat" });
}

setInterval(tick, TICK);

document.addEventListener("htmx:ws:after:connection", () => {
  tries = 0;
  resetSilence();
});

document.addEventListener("htmx:ws:before:message:incoming", (event) => {
  if (event.detail.message.data === ANSWER) {
    event.preventDefault();
    patience = Math.max(ANSWERED, 2 * (quiet - askedAt));
  }
  resetSilence();
});

document.addEventListener("visibilitychange", () => document.hidden || ask());
addEventListener("online", ask);
