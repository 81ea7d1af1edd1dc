// Keeps a temporary conversation, with the button above the message box. The server sends its new title
// to all tabs over their sockets, including this one.

import { refresh } from "../sidebar/conversation-list.js";
import { focusBox } from "./message-box.js";
import { say } from "../page/state.js";

const url = () => document.getElementById("composer-state").dataset.url;

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("[data-keep]")) return;
  event.preventDefault();
  const answer = await fetch(`${url()}keep/`, {
    method: "POST",
    body: new FormData(form),
    headers: { "HX-Request": "true" },
    redirect: "manual",
  }).catch(() => null);
  if (!answer?.ok) return say("That didn't work. This chat is still temporary. Try again in a moment.");
  refresh();
  focusBox();
});
