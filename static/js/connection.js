// The tab's socket: its URL follows what the page shows, its loss is told calmly, and frames for
// another conversation than the shown one are dropped. htmx opens it, sends and reconnects.
//
// Other modules listen to two events of the document: `chat:shown` (the page shows another
// conversation, or its first) and `chat:named` (the new chat that it shows was stored).

const QUIET = 1500; // a loss shorter than this is not worth a word

// Close codes, as chatapp/close_codes.py has them.
const TOO_LARGE = 1009;
const SIGNED_OUT = 4401;
const ENDS = { 4403: "deactivated", 4429: "too-many" };
const SENTENCES = {
  lost: "Connection lost. Trying again…",
  deactivated: "This account is not active any more. What you typed stays here.",
  "too-many": "Too many of your tabs are open. Close some, then come back to this one.",
};

const app = document.getElementById("app");
let connection = null;
let state = "opening"; // open, lost, or one of those that end it
let failures = 0;
let lossTimer = 0;

const field = (name) => document.querySelector(`#composer-state [name=${name}]`)?.value ?? "";
const hasEnded = () => state === "signed-out" || Object.values(ENDS).includes(state);
const isOpen = () => connection?.socket?.readyState === WebSocket.OPEN;

function shown() {
  const last = [
    ...document.querySelectorAll("#messages > :is([data-reply], [data-message]:not(.pending))"),
  ].at(-1);
  return {
    conversation: field("conversation"),
    head: last?.dataset.reply ?? last?.dataset.message ?? "",
    ending: last?.dataset.ending ?? "",
  };
}

function url() {
  const asked = shown();
  const query = asked.conversation ? `?${new URLSearchParams(asked)}` : "";
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/${query}`;
}

function watch() {
  if (isOpen()) connection.socket.send(JSON.stringify({ action: "watch", ...shown() }));
}

// ---- the connection's states

document.addEventListener("htmx:ws:before:connection", (event) => {
  connection = event.detail.connection;
  if (hasEnded()) connection.cancelled = true;
  connection.url = url();
});

document.addEventListener("htmx:ws:after:connection", () => {
  if (failures) htmx.trigger("#conversations", "refresh");
  failures = 0;
  // The page may have moved on while the socket was being opened.
  if (connection.socket.url !== url()) watch();
  show("open");
});

document.addEventListener("htmx:ws:close", ({ detail }) => {
  if (detail.code in ENDS) return show(ENDS[detail.code]);
  if (detail.code === SIGNED_OUT) return comeBackIfSignedIn();
  if (detail.code === TOO_LARGE) say("That is too large to be sent. Shorten it, then send it again.");
  if (detail.reason !== "closed") return;
  if (state === "open") show("opening");
  failures += 1;
  if (failures === 2 || failures % 5 === 0) askWhetherSignedIn();
  setTimeout(reopen, 3000); // for the close codes after which htmx does not reconnect
});

// A socket that is refused for want of a session looks like any that cannot be opened.
async function askWhetherSignedIn() {
  if ((await askForList())?.type === "opaqueredirect") show("signed-out");
}

// A session that got a new key, as by a new password, goes on in this browser with its new cookie.
async function comeBackIfSignedIn() {
  if ((await askForList())?.ok) reopen();
  else show("signed-out");
}

function askForList() {
  const list = document.getElementById("conversations").getAttribute("hx-get");
  return fetch(list, { redirect: "manual" }).catch(() => null);
}

function reopen() {
  if (hasEnded() || app._htmx?.ws?.connection) return;
  htmx.process(app, true);
}

for (const [target, name] of [[document, "visibilitychange"], [window, "online"], [window, "pageshow"]]) {
  target.addEventListener(name, () => {
    if (document.hidden || isOpen() || document.readyState !== "complete") return;
    if (hasEnded()) show("opening"); // perhaps they came back from signing in
    reopen();
  });
}

function show(next) {
  state = next;
  clearTimeout(lossTimer);
  if (next === "opening") lossTimer = setTimeout(show, QUIET, "lost");
  draw();
}

function draw() {
  const line = document.getElementById("connection");
  line.hidden = state !== "lost" && !hasEnded();
  line.textContent = SENTENCES[state] ?? "";
  if (state === "signed-out") {
    const link = Object.assign(document.createElement("a"), {
      href: `/accounts/login/?next=${encodeURIComponent(location.pathname)}`,
      target: "_blank",
      textContent: "Sign in in another tab",
    });
    line.replaceChildren("You are signed out. ", link, ", then come back: what you typed stays here.");
  }
}

show("opening");

// ---- what the page shows

document.addEventListener("htmx:after:swap", ({ detail }) => {
  if (detail.ctx.target?.id !== "main") return;
  watch();
  draw();
  document.dispatchEvent(new Event("chat:shown"));
});

document.addEventListener("DOMContentLoaded", () => document.dispatchEvent(new Event("chat:shown")));

// A turn that was asked for before the person moved on belongs to a page that is gone. Of which
// conversation a frame is says the composer's state in it, a swap of its own.
document.addEventListener("htmx:before:swap", (event) => {
  const state = event.detail.tasks.find(({ target }) => target?.id === "composer-state");
  const path = state?.fragment.firstElementChild?.dataset.url;
  const isForThisPage = field("conversation")
    ? path === document.getElementById("composer-state").dataset.url
    : document.querySelector("#messages > .pending");
  if (!path || isForThisPage) return;
  event.preventDefault();
  watch();
  htmx.trigger("#conversations", "refresh");
});

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "composer-state") adopt(target.dataset);
  if (target.matches?.("summary[data-thought]") && !unfoldedByHand.has(target.parentElement)) {
    target.parentElement.open = false;
  }
});

function adopt({ url, title }) {
  if (!url || location.pathname + location.search === url) return;
  history.replaceState({ htmx: true }, "", url);
  document.title = `${title} · chatapp`;
  document.getElementById("title").textContent = title;
  document.dispatchEvent(new Event("chat:named"));
}

const unfoldedByHand = new WeakSet();
document.addEventListener("click", ({ target }) => {
  const summary = target.closest?.(".reasoning > summary:not([hx-ignore] *)");
  if (summary) unfoldedByHand.add(summary.parentElement);
});

// ---- pages that cannot be shown in this one

document.addEventListener("htmx:before:response", (event) => {
  const { response, request, target } = event.detail.ctx;
  if (!response.raw.redirected && response.status < 400) return;
  event.preventDefault();
  if (target.id === "main") location.assign(request.action);
  else if (response.raw.redirected) show("signed-out");
});

document.addEventListener("htmx:error", ({ detail }) => {
  if (detail.ctx?.target?.id !== "main") return;
  say("The server can't be reached, so this page stays as it is. Try again in a moment.");
});

function say(problem) {
  document.getElementById("problem").textContent = problem;
}
