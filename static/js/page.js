// What the page shows, as its elements say it. Reads; `say` alone writes, the line at the composer.

// The numbers of chatapp/close_codes.py by their names.
export const CLOSE = JSON.parse(document.body.dataset.closeCodes);

const state = () => document.getElementById("composer-state");

// The shown conversation's id; empty on a new chat.
export const conversation = () => state()?.dataset.conversation ?? "";

// The id of the reply that is being written; undefined where none is.
export const streaming = () =>
  document.querySelector('#messages [data-ending="streaming"]')?.dataset.reply;
export const isStreaming = () => Boolean(streaming());

// How far the page is, in the words of the socket: its conversation, last message, that one's ending.
export function shown() {
  const last = [
    ...document.querySelectorAll("#messages > :is([data-reply], [data-message]:not(.pending))"),
  ].at(-1);
  return {
    conversation: conversation(),
    head: last?.dataset.reply ?? last?.dataset.message ?? "",
    ending: last?.dataset.ending ?? "",
  };
}

export function say(problem) {
  const line = document.getElementById("problem");
  line.textContent = problem;
  line.hidden = !problem;
}
