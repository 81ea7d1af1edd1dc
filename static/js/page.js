// What the page shows, as its elements say it. Reads; `say` alone writes, the line at the composer.

// The numbers of chatapp/close_codes.py by their names.
export const CLOSE = JSON.parse(document.body.dataset.closeCodes);

const state = () => document.getElementById("composer-state");

// The shown conversation's id; empty on a new chat.
export const conversation = () => state()?.dataset.conversation ?? "";

// The ids of the replies that are being written.
export const streaming = () =>
  [...document.querySelectorAll('#messages [data-ending="streaming"]')].map(({ dataset }) => dataset.reply);
export const isStreaming = () => streaming().length > 0;

// How far the page is, in the words of the socket: its conversation, last message, that one's ending,
// and whether later ones are left to be loaded. Replies side by side are their prompt's: it has all
// their endings.
export function shown() {
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
  };
}

export function say(problem) {
  const line = document.getElementById("problem");
  line.textContent = problem;
  line.hidden = !problem;
}
