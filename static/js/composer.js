// The message box: what sends, what is shown at once, and how typed text is never lost. htmx sends
// the form; this module decides when, and sends once more what a lost socket may have swallowed.

const FINE_POINTER = matchMedia("(pointer: fine)");
const GIVES_BACK = [1009, 4401, 4403, 4429]; // close codes after which no answer comes
const GROWS_BY_ITSELF = CSS.supports("field-sizing", "content");

let pending = null; // the prompt that was sent and is not answered yet: {id, text, typed, message}

const box = () => document.getElementById("message");
const form = () => document.getElementById("composer");
const conversation = () => document.querySelector("#composer-state [name=conversation]").value;
const isStreaming = () => document.querySelector('#messages [data-ending="streaming"]') !== null;
const isConnected = () => Boolean(document.getElementById("app")._htmx?.ws?.connection);
const bubbleOf = (id) => document.getElementById(`m-${id}`);

// ---- sending

document.addEventListener("submit", (event) => {
  if (event.target !== form()) return;
  if (box().value.trim() && !isStreaming() && !pending && isConnected()) return;
  event.preventDefault();
  event.stopPropagation();
}, true);

document.addEventListener("htmx:ws:before:message:outgoing", ({ target, detail }) => {
  const { action, message, prompt } = detail.message.values;
  if (action !== "prompt") return;
  pending = { id: prompt, text: message, typed: target === form(), message: detail.message };
  document.getElementById("problem").replaceChildren();
  drawBubble();
  if (!pending.typed) return;
  fill("");
  if (FINE_POINTER.matches) box().focus();
});

function drawBubble() {
  const bubble = document.createElement("div");
  bubble.className = "prompt pending";
  bubble.id = `m-${pending.id}`;
  bubble.dataset.message = pending.id;
  bubble.innerHTML = '<h2 class="visually-hidden">You</h2><div class="bubble prose"></div>';
  bubble.lastChild.textContent = pending.text;
  document.getElementById("messages").append(bubble);
}

// ---- the server's answer, or its absence

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "problem" && pending && target.dataset.prompt === pending.id) return giveBack();
  if (target.id === "composer-state" || target.id === "messages") settle();
  if (target.id === "model-picker") wantedModel();
});

function settle() {
  if (!pending) return;
  const bubble = bubbleOf(pending.id);
  if (!bubble) return drawBubble(); // the thread was drawn anew without it
  if (bubble.classList.contains("pending")) return;
  pending = null;
  keepDraft();
}

// The socket was lost between the prompt and its answer. The server stores an id once.
document.addEventListener("htmx:ws:after:connection", ({ detail: { connection } }) => {
  if (!pending?.message.data) return;
  const isQueued = connection.queue.some(({ message }) => message === pending.message);
  if (!isQueued) connection.socket.send(pending.message.data);
});

document.addEventListener("htmx:ws:close", ({ detail }) => {
  if (GIVES_BACK.includes(detail.code) && pending) giveBack();
});

function giveBack() {
  const { id, text, typed } = pending;
  pending = null;
  bubbleOf(id)?.remove();
  if (!typed) return;
  fill(box().value ? `${text}\n${box().value}` : text);
  box().focus();
}

document.addEventListener("chat:shown", () => {
  pending = null; // it belongs to the page that was left, and its draft is kept there
  restoreDraft();
  picked = "";
  wantedModel();
  if (FINE_POINTER.matches) box().focus({ preventScroll: true });
});

// ---- drafts, one for each conversation; a prompt stays in its draft until the server has it

const account = document.querySelector("meta[name=account]").content;
const stored = (name) => `chatapp:${account}:${name}`;
const keyOf = () => stored(`draft:${conversation() || "new"}`);
let draftKey = "";

// Nothing is kept once this browser was signed out, in whichever tab (account.js).
const mayKeep = () => localStorage.getItem("chatapp:account") === account;

function keepDraft() {
  if (!mayKeep()) return;
  const draft = { text: box().value, sent: pending?.typed ? [pending.id, pending.text] : undefined };
  if (draft.text || draft.sent) localStorage.setItem(draftKey, JSON.stringify(draft));
  else localStorage.removeItem(draftKey);
}

function restoreDraft() {
  draftKey = keyOf();
  const { text = "", sent } = JSON.parse(localStorage.getItem(draftKey) ?? "{}");
  const isLost = sent && !bubbleOf(sent[0]);
  fill([isLost && sent[1], text].filter(Boolean).join("\n"));
}

document.addEventListener("chat:named", () => {
  localStorage.removeItem(draftKey);
  draftKey = keyOf();
  keepDraft();
});

// ---- the box

function fill(text) {
  box().value = text;
  box().setSelectionRange(text.length, text.length);
  changed();
}

function changed() {
  form().toggleAttribute("data-empty", !box().value.trim());
  if (!GROWS_BY_ITSELF) {
    box().style.height = "auto";
    box().style.height = `${box().scrollHeight}px`;
  }
  keepDraft();
}

document.addEventListener("input", ({ target }) => {
  if (target === box()) changed();
});

document.addEventListener("click", ({ target }) => {
  const suggestion = target.closest?.("[data-suggestion]");
  if (!suggestion) return;
  fill(suggestion.textContent.trim());
  form().requestSubmit();
});

// ---- keys

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.defaultPrevented || event.isComposing || event.keyCode === 229) return;
  if (key === "Enter" && target === box() && !event.shiftKey) {
    event.preventDefault();
    form().requestSubmit();
  } else if (key === "Escape" && isStreaming()) {
    event.preventDefault();
    form().querySelector(".stop").click();
  } else if (key === "/" && !isTyping(target) && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    box().focus();
  } else if (key.toLowerCase() === "o" && event.shiftKey && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    document.querySelector("[data-new-chat]").click();
  }
});

const isTyping = (target) => target.matches?.("input, textarea, select, [contenteditable]");

// Stop and Send take each other's place: who pressed one should not lose their place.
document.addEventListener("htmx:after:settle", ({ target }) => {
  const isEnded = target.matches?.("[data-reply]:not([data-ending=streaming])");
  const hasLostFocus = document.activeElement === document.body ||
    document.activeElement?.matches(".stop");
  if (isEnded && hasLostFocus && FINE_POINTER.matches) box().focus({ preventScroll: true });
});

// ---- the model: the one picked here, or what a new chat starts with

let picked = ""; // by hand, in what is shown now

document.addEventListener("change", ({ target }) => {
  if (target.id !== "model") return;
  picked = target.value;
  if (mayKeep()) localStorage.setItem(stored("model"), picked);
});

function wantedModel() {
  const wanted = picked || (!conversation() && localStorage.getItem(stored("model")));
  const picker = document.getElementById("model");
  if ([...picker.options].some(({ value }) => value === wanted)) picker.value = wanted;
}
