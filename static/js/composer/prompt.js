// A prompt on its way: shown at once, sent again if a lost socket may have swallowed it, and returned to
// the box if no answer will come. htmx sends the form; this module decides when, and under which id.
// Each prompt has its own id, since other tabs have the same page.

import { chips, hideSent, nameOf, showAgain } from "../files/attachments.js";
import { sendAgain, takesMessages } from "../page/htmx-socket.js";
import { newId } from "../page/ids.js";
import { box, fill, fillAbove, focusBox, form, isEmpty, tooLong } from "./message-box.js";
import { CLOSE, isStreaming, say } from "../page/state.js";
import { awaitAnswer, bubbleOf, stopAwaiting, unanswered } from "./pending-prompt.js";
import { awaitsFiles, holdsBack } from "../files/waiting.js";

// Close codes after which no answer comes.
const GIVES_BACK = [CLOSE.TOO_LARGE, CLOSE.SIGNED_OUT, CLOSE.DEACTIVATED, CLOSE.TOO_MANY_TABS];

let doubtful = null; // a prompt returned to the box that the server may have: {id, text, attached}

document.addEventListener("submit", (event) => {
  if (event.target !== form()) return;
  const hasContent = !isEmpty() || awaitsFiles();
  const isReady = hasContent && !isStreaming() && !unanswered() && takesMessages();
  if (isReady && !tooLong() && !holdsBack()) return;
  if (isReady && tooLong()) say(tooLong());
  event.preventDefault();
  event.stopPropagation();
}, true);

document.addEventListener("htmx:ws:before:message:outgoing", ({ detail: { message } }) => {
  const { action, edited, attached } = message.values;
  if (!["prompt", "edit"].includes(action)) return;
  const text = edited ? message.values.message : box().value;
  const isSame = text === doubtful?.text && attached === (doubtful.attached ?? attached);
  const id = isSame ? doubtful.id : newId();
  Object.assign(message.values, { prompt: id, message: text });
  const files = edited ? [] : chips();
  say("");
  awaitAnswer({ id, text, edited, files: files.map(nameOf), message });
  hideSent(files.map(({ dataset }) => dataset.file));
  if (!edited) fill("");
  focusBox();
});

// ---- the server's answer, or its absence

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "problem" && unanswered() && target.dataset.prompt === unanswered().id) return giveBack();
  if (target.id === "composer-state" || target.id === "messages") settle();
});

function settle() {
  const pending = unanswered();
  if (!pending) return;
  const bubble = bubbleOf(pending.id);
  if (!bubble) return awaitAnswer(pending); // the thread was redrawn without it
  if (bubble.classList.contains("pending")) return;
  stopAwaiting();
  document.dispatchEvent(new Event("chat:answered"));
}

// The socket was lost between the prompt and its answer. The server stores an id once.
document.addEventListener("htmx:ws:after:connection", () => {
  if (unanswered()) sendAgain(unanswered().message);
});

document.addEventListener("htmx:ws:close", ({ detail: { code } }) => {
  if (code === CLOSE.TOO_LARGE) say("This message is too large. Shorten it, then send it again.");
  if (GIVES_BACK.includes(code) && unanswered()) giveBack();
});

function giveBack() {
  const { id, text, edited, message } = unanswered();
  stopAwaiting();
  bubbleOf(id)?.remove();
  showAgain();
  putBack(id, text, edited, message.values.attached);
  if (!edited) box().focus();
}

document.addEventListener("chat:unsent", () => unanswered() && giveBack());

// Returns a prompt to the box, or an edit to its editor. Sent again unchanged, it keeps its id and is
// stored once.
export function putBack(id, text, edited, attached) {
  doubtful = { id, text, attached };
  if (edited) reopenEditor(edited, text, attached);
  else fillAbove(text);
}

// Opens an edit again whose text would otherwise be lost.
export async function reopenEditor(prompt, text, attached) {
  const { resume } = await import("../thread/editing.js").catch(() => ({}));
  if (resume) resume(prompt, text, attached);
  else fillAbove(text);
}

document.addEventListener("chat:shown", () => {
  stopAwaiting();
  doubtful = null; // it belongs to the previous page; its draft is stored
});
