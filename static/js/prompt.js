// A prompt on its way: shown at once, sent again if a lost socket may have swallowed it, and returned to
// the box if no answer will come. htmx sends the form; this module decides when, and under which id.
// Each prompt has its own id, since other tabs have the same page.

import { sendAgain, takesMessages } from "./htmx-socket.js";
import { newId } from "./ids.js";
import { box, fill, fillAbove, focusBox, form, isEmpty, joined, tooLong, written } from "./message-box.js";
import { CLOSE, isStreaming, say } from "./page.js";
import { editAgain } from "./reopened-editor.js";

// Close codes after which no answer comes.
const GIVES_BACK = [CLOSE.TOO_LARGE, CLOSE.SIGNED_OUT, CLOSE.DEACTIVATED, CLOSE.TOO_MANY_TABS];

let pending = null; // the sent prompt without an answer yet: {id, text, parts, edited, message}
let doubtful = null; // a prompt returned to the box that the server may have: {id, text, attached}

export const unanswered = () => pending;
export const bubbleOf = (id) => document.getElementById(`m-${id}`);

document.addEventListener("submit", (event) => {
  if (event.target !== form()) return;
  const isReady = !isEmpty() && !isStreaming() && !pending && takesMessages();
  if (isReady && !tooLong()) return;
  if (isReady) say(tooLong());
  event.preventDefault();
  event.stopPropagation();
}, true);

document.addEventListener("htmx:ws:before:message:outgoing", ({ detail: { message } }) => {
  const { action, edited, attached } = message.values;
  if (!["prompt", "edit"].includes(action)) return;
  const parts = edited ? [message.values.message] : written();
  const text = joined(...parts);
  const isSame = text === doubtful?.text && attached === (doubtful.attached ?? attached);
  const id = isSame ? doubtful.id : newId();
  Object.assign(message.values, { prompt: id, message: text });
  pending = { id, text, parts, edited, message };
  say("");
  drawBubble();
  if (!edited) fill("");
  focusBox();
});

function drawBubble() {
  const bubble = document.createElement("div");
  bubble.className = "prompt pending";
  bubble.id = `m-${pending.id}`;
  bubble.dataset.message = pending.id;
  bubble.innerHTML = '<h2 class="visually-hidden">You</h2><div class="bubble prose"></div>';
  const typed = Object.assign(document.createElement("div"), { className: "typed", dir: "auto" });
  typed.textContent = pending.text;
  bubble.lastChild.append(typed);
  document.getElementById("messages").append(bubble);
}

// ---- the server's answer, or its absence

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "problem" && pending && target.dataset.prompt === pending.id) return giveBack();
  if (target.id === "composer-state" || target.id === "messages") settle();
});

function settle() {
  if (!pending) return;
  const bubble = bubbleOf(pending.id);
  if (!bubble) return drawBubble(); // the thread was redrawn without it
  if (bubble.classList.contains("pending")) return;
  pending = null;
  document.dispatchEvent(new Event("chat:answered"));
}

// The socket was lost between the prompt and its answer. The server stores an id once.
document.addEventListener("htmx:ws:after:connection", () => {
  if (pending) sendAgain(pending.message);
});

document.addEventListener("htmx:ws:close", ({ detail: { code } }) => {
  if (code === CLOSE.TOO_LARGE) say("This message is too large. Shorten it, then send it again.");
  if (GIVES_BACK.includes(code) && pending) giveBack();
});

function giveBack() {
  const { id, parts, edited, message } = pending;
  pending = null;
  bubbleOf(id)?.remove();
  putBack(id, parts, edited, message.values.attached);
  if (!edited) box().focus();
}

// Returns a prompt to the box, or an edit to its editor. Sent again unchanged, it keeps its id and is
// stored once.
export function putBack(id, parts, edited, attached) {
  doubtful = { id, text: joined(...parts), attached };
  if (edited) editAgain(edited, doubtful.text, attached);
  else fillAbove(...parts);
}

document.addEventListener("chat:shown", () => {
  pending = doubtful = null; // it belongs to the previous page; its draft is stored
});
