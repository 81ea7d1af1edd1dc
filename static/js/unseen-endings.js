// A reply that ends in a tab that nobody sees: the page's title is marked until it is seen, and the
// person is notified where this browser was told so in the account's menu (notifying.js). A notification
// names the conversation and says nothing of the reply.

import { isStreaming } from "./page.js";
import { mark } from "./page-title.js";

const notifies = () => localStorage.getItem("notify") === "on";
const canNotify = () => window.Notification?.permission === "granted";
let shown = []; // notifications of endings that nobody has seen

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.matches?.("#messages [data-reply]")) look(target);
});

export function look(reply) {
  if (reply.dataset.ending === "streaming" || isStreaming() || !document.hidden) return;
  mark(true);
  if (notifies() && canNotify()) notify(reply);
}

function notify(reply) {
  const title = document.getElementById("title").textContent.trim();
  try {
    // Of several tabs that show it the last one's stays.
    const told = new Notification(title, { body: "The reply has ended.", tag: reply.dataset.reply });
    told.onclick = () => {
      window.focus();
      told.close();
    };
    shown.push(told);
  } catch {
    // Android's browsers leave this to service workers, of which there is none: the mark stays.
  }
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  mark(false);
  for (const told of shown) told.close();
  shown = [];
});
