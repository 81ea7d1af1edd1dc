// When a reply ends in a hidden tab, marks the page's title until the tab is visible, and shows a
// notification if that is turned on in the preferences (account/notifications.js). The notification names
// the conversation and shows nothing of the reply.

import { isStreaming } from "../page/state.js";
import { markTitle } from "../page/conversation.js";

const notifies = () => localStorage.getItem("notify") === "on";
const canNotify = () => window.Notification?.permission === "granted";
let openNotifications = []; // open notifications

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.matches?.("#messages [data-reply]")) noteEnding(target);
});

export function noteEnding(reply) {
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
