// A network that goes silent closes no socket, and no page sees a server's pings. So while this one
// is seen, or a reply streams, it asks the server after two seconds without a word whether it is
// there; where no answer comes, the connection is lost. One that nobody sees asks as soon as somebody
// comes back to it.
//
// Ticks are counted and not time: a page that was busy or asleep first takes what has come.

import { lose } from "./connection.js";
import { isOpen, isOpening, send, unsentBytes } from "./htmx-socket.js";
import { isStreaming } from "./page.js";

const TICK = 1000; // ms; what follows is in ticks
const ASKS = 2; // without a word, until it asks
const ANSWERED = 2, OPENED = 4, LONGEST = 30; // that an answer and an opening socket get
const ANSWER = "<!---->"; // chatapp/server/socket_protocol.py

let quiet = 0; // since something was heard
let asked = null; // how quiet it was when it asked
let patience = ANSWERED; // more where that was too short: a large frame on a slow line is silence
let tries = 0; // to open a socket, in vain
let unsent = 0; // bytes

function tick() {
  const before = unsent;
  unsent = unsentBytes();
  quiet += 1;
  if (unsent < before) hear(); // a long prompt is on its way
  if (isOpening()) awaitSocket();
  else if (isOpen() && (isStreaming() || !document.hidden)) awaitWord();
  else hear();
}

function hear() {
  quiet = 0;
  asked = null;
}

function awaitSocket() {
  if (quiet < Math.min(OPENED + tries, LONGEST)) return;
  tries += 1;
  end();
}

function awaitWord() {
  if (asked === null && quiet >= ASKS) return ask();
  if (asked === null || quiet < asked + patience) return;
  patience = Math.min(2 * patience, LONGEST);
  end();
}

function end() {
  hear();
  lose();
}

function ask() {
  if (!isOpen() || asked !== null) return;
  asked = quiet;
  send({ action: "beat" });
}

setInterval(tick, TICK);

document.addEventListener("htmx:ws:after:connection", () => {
  tries = 0;
  hear();
});

document.addEventListener("htmx:ws:before:message:incoming", (event) => {
  if (event.detail.message.data === ANSWER) {
    event.preventDefault();
    patience = Math.max(ANSWERED, 2 * (quiet - asked));
  }
  hear();
});

document.addEventListener("visibilitychange", () => document.hidden || ask());
addEventListener("online", ask);
