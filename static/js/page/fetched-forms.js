// Forms posted with fetch, so that the page and its socket stay: those in dialogs, whose response is the
// address to go to, or why nothing was done; and the button above the message box that keeps a temporary
// conversation.

import { refresh } from "../sidebar/conversation-list.js";
import { post } from "../sidebar/conversation-actions.js";
import { focusBox } from "../composer/message-box.js";
import { say } from "./state.js";

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("[data-answers]")) return;
  event.preventDefault();
  const answer = await post(form.action, Object.fromEntries(new FormData(form)));
  if (!answer.ok) return showProblem(form, answer.text);
  form.closest("dialog").close();
  form.reset();
  refresh();
  htmx.ajax("GET", answer.text, { target: "#main", swap: "innerHTML", push: "true" });
});

document.addEventListener("beforetoggle", ({ target, newState }) => {
  const form = newState === "open" && target.querySelector?.(":scope > [data-answers]");
  if (form) showProblem(form, "");
}, true);

function showProblem(form, problem) {
  const line = form.querySelector(".problem");
  line.textContent = problem;
  line.hidden = !problem;
}

document.addEventListener("click", ({ target }) => {
  const next = target.closest?.("[data-opens-instead]")?.dataset.opensInstead;
  if (!next) return;
  target.closest("dialog").close();
  document.getElementById(next).showModal();
});

// ---- keeping a temporary conversation. The server sends its new title to all tabs over their sockets,
// including this one.

const chatUrl = () => document.getElementById("composer-state").dataset.url;

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("[data-keep]")) return;
  event.preventDefault();
  const answer = await fetch(`${chatUrl()}keep/`, {
    method: "POST",
    body: new FormData(form),
    headers: { "HX-Request": "true" },
    redirect: "manual",
  }).catch(() => null);
  if (!answer?.ok) return say("That didn't work. This chat is still temporary. Try again in a moment.");
  refresh();
  focusBox();
});
