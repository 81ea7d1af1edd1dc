// The page of a shared chat: loads earlier messages, follows a live one over a socket that only listens,
// and stays at its end while it grows, until its reader scrolls away. Frames are made by
// chatapp/rendering/fragments/swaps.py; this page has no htmx.

const MESSAGES = document.getElementById("messages");
const TITLE = document.getElementById("title");
const APP = document.title.slice(document.title.lastIndexOf(" · "));
const NOTE = document.getElementById("follows");
const ENDED = Number(document.body.dataset.ended); // a close code
const FIRST_DELAY = 1000, LONGEST_DELAY = 30000, BEAT = 15000; // ms
const SWAP = /^(\w+) target:(.*?)(?: strip:true)?$/;

let delay = FIRST_DELAY;
let isHeard = true; // since the last beat

document.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-earlier]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const answer = await fetch(`earlier/${link.dataset.earlier}/`).catch(() => null);
  if (!answer?.ok) return location.assign(link.href);
  const below = document.documentElement.scrollHeight - scrollY;
  link.replaceWith(document.createRange().createContextualFragment(await answer.text()));
  scrollTo(0, document.documentElement.scrollHeight - below); // what was read stays where it was
});

if ("follows" in document.body.dataset) open();

function open() {
  const url = new URL(`/ws${location.pathname}`, location);
  url.protocol = url.protocol.replace("http", "ws");
  const { head, ending } = MESSAGES.dataset;
  if (head) url.search = new URLSearchParams({ head, ending });
  const socket = new WebSocket(url);
  const beat = setInterval(() => beatOf(socket), BEAT);
  socket.onopen = () => {
    delay = FIRST_DELAY;
    isHeard = true;
    NOTE.textContent = "New messages appear here.";
  };
  socket.onmessage = ({ data }) => {
    isHeard = true;
    show(data);
  };
  socket.onclose = ({ code }) => {
    clearInterval(beat);
    if (code === ENDED) return end();
    NOTE.textContent = "Not connected. Trying again…";
    setTimeout(open, delay * (0.75 + Math.random() / 2));
    delay = Math.min(2 * delay, LONGEST_DELAY);
  };
}

// Closes a socket that has gone silent; the server answers each beat.
function beatOf(socket) {
  if (socket.readyState !== WebSocket.OPEN) return;
  if (!isHeard) return socket.close();
  isHeard = false;
  socket.send(JSON.stringify({ action: "beat" }));
}

function end() {
  document.getElementById("shared").replaceChildren();
  document.title = "No longer shared";
  const note = document.createElement("p");
  const sentence = "This is no longer shared. Ask the person who shared it for a new link.";
  Object.assign(note, { textContent: sentence, role: "alert" });
  document.getElementById("shared").append(note);
  document.getElementById("shared-copy")?.remove();
}

function show(frame) {
  const parsed = document.createElement("template");
  parsed.innerHTML = frame;
  const opened = [...document.querySelectorAll(".tool-call[open]")];
  for (const one of parsed.content.children) swap(one);
  for (const { id } of opened) document.getElementById(id)?.setAttribute("open", "");
  document.title = TITLE.textContent + APP;
  stayAtEnd();
}

function swap(template) {
  const [, style, target] = template.getAttribute("hx-swap-oob")?.match(SWAP) ?? [];
  if (template.dataset.head) Object.assign(MESSAGES.dataset, template.dataset);
  for (const element of style ? document.querySelectorAll(target) : []) {
    const content = template.content.cloneNode(true);
    if (style === "append") element.append(content);
    else if (style === "innerHTML") element.replaceChildren(content);
    else element.replaceWith(content); // outerHTML, or delete
  }
}

// ---- the end of the page

const NEAR = 80; // px from the end that still count as the end
const place = () => ({ height: document.documentElement.scrollHeight, visible: innerHeight });
const isAtEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - NEAR;

let last = place();
let isFollowing = isAtEnd();

// A move that comes with another height is the browser's, and stops nothing.
document.addEventListener("scroll", () => {
  const before = last;
  last = place();
  const isResized = last.height !== before.height || last.visible !== before.visible;
  isFollowing = isAtEnd() || (isFollowing && isResized);
}, { passive: true });

new ResizeObserver(stayAtEnd).observe(document.body);

// Scrolls to the end, unless the reader is elsewhere.
function stayAtEnd() {
  if (!isFollowing) return;
  scrollTo(0, document.documentElement.scrollHeight);
  last = place();
}
