// Keeps the tab's socket open. Its URL follows what the page shows, a lost socket is reopened, and one
// that the person may not have stays closed. The state is in #app's data-connection (opening, open, or
// what ended it); each change fires `chat:connection` on the document, with the ms until the next try
// and whether the loss is certain.

import { refresh } from "../sidebar/conversation-list.js";
import {
  beforeConnecting, giveUp, isOpen, openAgainIn, openedUrl, reopen, send, takesMessages,
} from "../page/htmx-socket.js";
import { CLOSE, shownState } from "../page/state.js";

const ENDS = { [CLOSE.DEACTIVATED]: "deactivated", [CLOSE.TOO_MANY_TABS]: "too-many" };
const SOON = 150, LATER = 3000, LATEST = 10_000; // ms

const app = document.getElementById("app");
let failures = 0;
let triesAt = 0; // by performance.now()
let wait = null; // ms until the next try, if the page itself gave up the socket

const hasEnded = () => ["signed-out", ...Object.values(ENDS)].includes(app.dataset.connection);

function enter(state, triesIn = 0, isSure = false) {
  triesAt = performance.now() + triesIn;
  app.dataset.connection = state;
  document.dispatchEvent(new CustomEvent("chat:connection", { detail: { state, triesIn, isSure } }));
}
enter("opening");

function url() {
  const current = shownState();
  const query = current.conversation ? `?${new URLSearchParams(current)}` : "";
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/${query}`;
}

// Requests what is new in the shown conversation.
export function watch() {
  if (isOpen()) send({ action: "watch", ...shownState() });
}

document.addEventListener("chat:shown", watch);

export const endSignedOut = () => hasEnded() || enter("signed-out");

beforeConnecting(() => !hasEnded() && url());

document.addEventListener("htmx:ws:after:connection", () => {
  if (failures) refresh();
  failures = 0;
  if (openedUrl() !== url()) watch(); // the page shows something else by now
  enter("open");
});

document.addEventListener("htmx:ws:close", ({ detail: { code, reason } }) => {
  if (code in ENDS) return enter(ENDS[code]);
  if (code === CLOSE.SIGNED_OUT) return askWhetherSignedIn(comeBack);
  if (reason !== "closed") return;
  failures += 1;
  // A socket refused for lack of a session looks like any failure to connect.
  if (failures === 2 || failures % 5 === 0) askWhetherSignedIn();
  const delay = wait ?? backOff(code === CLOSE.FLOOD ? LATER : SOON);
  openAgainIn(delay, code);
  enter("opening", delay, wait !== null);
});

// With jitter, so that tabs that lost the same server don't all reconnect at once.
function backOff(least) {
  return Math.max(least, Math.min(SOON * 2 ** failures, LATEST)) * (0.7 + 0.6 * Math.random());
}

function tryAgainIn(ms) {
  wait = ms;
  giveUp();
  wait = null;
}

// The network is silent: replace an open socket at once, and a pending try after a delay.
export const lose = () => tryAgainIn(isOpen() ? 0 : backOff(LATER));

function comeBack() {
  if (!takesMessages()) reopen(); // does nothing if it has ended
  else if (performance.now() < triesAt) tryAgainIn(0);
}

// After a password change the session has a new key, and this browser continues with the new cookie.
async function askWhetherSignedIn(goOn = () => {}) {
  if ((await isSignedIn()) === false) endSignedOut();
  else goOn();
}

// Asks by requesting the list of conversations. Undefined if the server does not answer.
async function isSignedIn() {
  const list = document.getElementById("lists").getAttribute("hx-get");
  const answer = await fetch(list, { redirect: "manual" }).catch(() => null);
  if (answer?.ok) return true;
  if (answer?.type === "opaqueredirect") return false;
}

function reconnectIfDue() {
  if (document.hidden || isOpen() || document.readyState !== "complete") return;
  if (hasEnded()) enter("opening"); // they may have signed in meanwhile
  comeBack();
}

document.addEventListener("visibilitychange", reconnectIfDue);
addEventListener("pageshow", reconnectIfDue);
addEventListener("online", reconnectIfDue);
addEventListener("offline", () => isOpen() && lose());
