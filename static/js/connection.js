// Whether the tab has its socket: the URL follows what the page shows, a lost one is opened again,
// and one that the person may not have stays closed. The state stands in #app's data-connection
// (opening, open, or what ended it), and the document is told of each in `chat:connection`: with the
// ms until the next try, and whether there is no doubt of the loss.

import { refresh } from "./conversation-list.js";
import {
  beforeConnecting, giveUp, isOpen, openAgainIn, openedUrl, reopen, send, takesMessages,
} from "./htmx-socket.js";
import { CLOSE, shown } from "./page.js";
import { isSignedIn } from "./session.js";

const ENDS = { [CLOSE.DEACTIVATED]: "deactivated", [CLOSE.TOO_MANY_TABS]: "too-many" };
const SOON = 150, LATER = 3000, LATEST = 10_000; // ms

const app = document.getElementById("app");
let failures = 0;
let triesAt = 0; // by performance.now()
let wait = null; // ms until the next try, where the page itself gave the socket up

const hasEnded = () => ["signed-out", ...Object.values(ENDS)].includes(app.dataset.connection);

function enter(state, triesIn = 0, isSure = false) {
  triesAt = performance.now() + triesIn;
  app.dataset.connection = state;
  document.dispatchEvent(new CustomEvent("chat:connection", { detail: { state, triesIn, isSure } }));
}
enter("opening");

function url() {
  const asked = shown();
  const query = asked.conversation ? `?${new URLSearchParams(asked)}` : "";
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/${query}`;
}

// Asks for whatever the page does not have yet of what it shows.
export function watch() {
  if (isOpen()) send({ action: "watch", ...shown() });
}

document.addEventListener("chat:shown", watch);

export const endSignedOut = () => hasEnded() || enter("signed-out");

beforeConnecting(() => !hasEnded() && url());

document.addEventListener("htmx:ws:after:connection", () => {
  if (failures) refresh();
  failures = 0;
  if (openedUrl() !== url()) watch(); // the page has moved on while the socket was being opened
  enter("open");
});

document.addEventListener("htmx:ws:close", ({ detail: { code, reason } }) => {
  if (code in ENDS) return enter(ENDS[code]);
  if (code === CLOSE.SIGNED_OUT) return askWhetherSignedIn(comeBack);
  if (reason !== "closed") return;
  failures += 1;
  // One that is refused for want of a session looks like any that cannot be opened.
  if (failures === 2 || failures % 5 === 0) askWhetherSignedIn();
  const delay = wait ?? backOff(code === CLOSE.FLOOD ? LATER : SOON);
  openAgainIn(delay, code);
  enter("opening", delay, wait !== null);
});

// Tabs that lost the same server do not come back to it in the same moment.
function backOff(least) {
  return Math.max(least, Math.min(SOON * 2 ** failures, LATEST)) * (0.7 + 0.6 * Math.random());
}

function tryAgainIn(ms) {
  wait = ms;
  giveUp();
  wait = null;
}

// The network is silent: a socket that was open is replaced at once, a try by another in a while.
export const lose = () => tryAgainIn(isOpen() ? 0 : backOff(LATER));

function comeBack() {
  if (!takesMessages()) reopen(); // unless it has ended
  else if (performance.now() < triesAt) tryAgainIn(0);
}

// A session that got a new key, as by a new password, goes on in this browser with its new cookie.
async function askWhetherSignedIn(goOn = () => {}) {
  if ((await isSignedIn()) === false) endSignedOut();
  else goOn();
}

function lookAgain() {
  if (document.hidden || isOpen() || document.readyState !== "complete") return;
  if (hasEnded()) enter("opening"); // perhaps they came back from signing in
  comeBack();
}

document.addEventListener("visibilitychange", lookAgain);
addEventListener("pageshow", lookAgain);
addEventListener("online", lookAgain);
addEventListener("offline", () => isOpen() && lose());
