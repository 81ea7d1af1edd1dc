// What a reply needs while it streams, loaded by static/js/page/lazy.js.
//
// Shows for how many seconds it has been silent, from ten on, and the countdown to the next try. Counted
// here from the server's value (data-silent-for, negative before the next try), so that the server need
// not send every second.
//
// When a reply ends in a hidden tab, marks the page's title until the tab is visible, and shows a
// notification if that is turned on in the preferences (account/notifications.js). The notification names
// the conversation and shows nothing of the reply.

import { isStreaming } from "../page/state.js";
import { markTitle } from "../page/conversation.js";

// ---- silence

const CALM = 10; // s of silence before it is shown
const TICK = 1000; // ms

const seconds = () => performance.now() / 1000;
const silentSince = new WeakMap(); // by the waiting element
const heardAt = new WeakMap(); // by reply
const lengths = new WeakMap(); // of each reply's text

const app = document.getElementById("app"); // outlives the pages shown in it

new MutationObserver((changes) => {
  let isRedrawn = false;
  for (const { target } of changes) {
    const reply = target.closest?.(".regions")?.parentElement;
    if (reply) heardAt.set(reply, seconds());
    else isRedrawn = true;
  }
  if (isRedrawn) begin();
}).observe(app, { childList: true, subtree: true });

const waits = () => app.querySelectorAll('[data-ending="streaming"] .waiting[data-silent-for]');

function begin() {
  for (const waiting of waits()) {
    if (silentSince.has(waiting)) continue;
    silentSince.set(waiting, seconds() - Number(waiting.dataset.silentFor));
  }
}

function count() {
  begin();
  for (const waiting of waits()) draw(waiting, waiting.closest("[data-reply]"));
}

// Text appended to existing nodes is found by its length: observing it would cost as much as writing.
function noteText(reply) {
  const { length } = reply.querySelector(".regions").textContent;
  if (lengths.has(reply) && lengths.get(reply) !== length) heardAt.set(reply, seconds());
  lengths.set(reply, length);
}

function draw(waiting, reply) {
  noteText(reply);
  countDown(waiting.querySelector(".countdown"), silentSince.get(waiting));
  const since = Math.max(silentSince.get(waiting), heardAt.get(reply) ?? 0);
  const silence = Math.floor(seconds() - since);
  const line = waiting.querySelector(".silence");
  const isLong = silence >= CALM;
  const hasText = reply.querySelector(".regions > :last-child:not(.tool-call)");
  const text = hasText ? `Nothing received for ${silence} s…` : `${silence} s`;
  waiting.toggleAttribute("data-silent", isLong);
  if (isLong || line.textContent) line.textContent = isLong ? text : "";
}

function countDown(line, at) {
  const left = Math.ceil(at - seconds());
  const text = left > 0 ? `in ${left} s` : "now";
  if (line && line.textContent !== text) line.textContent = text;
}

setInterval(count, TICK);
count();

// ---- endings

// Looks at replies that streamed when this was requested: they may have ended before it loaded.
export function noteEndings(replies) {
  for (const reply of document.querySelectorAll("#messages [data-reply]")) {
    if (replies.includes(reply.dataset.reply)) noteEnding(reply);
  }
}

const notifies = () => localStorage.getItem("notify") === "on";
const canNotify = () => window.Notification?.permission === "granted";
let openNotifications = [];

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.matches?.("#messages [data-reply]")) noteEnding(target);
});

function noteEnding(reply) {
  if (reply.dataset.ending === "streaming" || isStreaming() || !document.hidden) return;
  markTitle(true);
  if (notifies() && canNotify()) notify(reply);
}

function notify(reply) {
  const title = document.getElementById("title").textContent.trim();
  try {
    // With several tabs on the same reply, the tag leaves only the last notification.
    const notification = new Notification(title, { body: "Reply finished.", tag: reply.dataset.reply });
    notification.onclick = () => {
      window.focus();
      notification.close();
    };
    openNotifications.push(notification);
  } catch {
    // Android browsers only allow notifications from service workers; the mark has to do.
  }
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  markTitle(false);
  for (const notification of openNotifications) notification.close();
  openNotifications = [];
});
