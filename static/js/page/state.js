// The page's state, read from its elements. Only `say` writes: the line at the composer.

// The close codes of chatapp/close_codes.py by name.
export const CLOSE = JSON.parse(document.body.dataset.closeCodes);

const state = () => document.getElementById("composer-state");

// The shown conversation's id; empty on a new chat.
export const conversation = () => state()?.dataset.conversation ?? "";

// The ids of the replies that are being written.
export const streaming = () =>
  [...document.querySelectorAll('#messages [data-ending="streaming"]')].map(({ dataset }) => dataset.reply);
export const isStreaming = () => streaming().length > 0;

// What the page has, in the socket's terms: its conversation, last message, that message's ending,
// whether later messages are not loaded, and whether it says that a summary is being written. Replies
// side by side belong to their prompt, whose ending lists all of theirs.
export function shownState() {
  const last = [
    ...document.querySelectorAll("#messages > :is([data-reply], [data-message]:not(.pending))"),
  ].at(-1);
  const head = last?.dataset.reply ?? last?.dataset.message ?? "";
  const beside = [...document.querySelectorAll(`[id="beside-${head}"] > * > [data-reply]`)];
  return {
    conversation: conversation(),
    head,
    ending: last?.dataset.ending ?? beside.map(({ dataset }) => dataset.ending).join(" "),
    later: document.querySelector("#messages > .later") ? "on" : "",
    summary: document.querySelector("#summary-progress > *") ? "on" : "",
  };
}

export function say(problem) {
  const line = document.getElementById("problem");
  line.textContent = problem;
  line.hidden = !problem;
}
