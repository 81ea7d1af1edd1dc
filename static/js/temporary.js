// A temporary conversation is kept by the button above the message box. Its new title the server tells
// all tabs over their sockets, this one too.

import { refresh } from "./conversation-list.js";
import { focusBox } from "./message-box.js";
import { say } from "./page.js";

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
  if (!answer?.ok) return say("That did not work, and this chat is still temporary. Try again in a moment.");
  refresh();
  focusBox();
});
