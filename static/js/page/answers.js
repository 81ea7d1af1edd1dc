// Forms in dialogs, posted with fetch so that the page and its socket stay: the response is the
// address to go to, or why nothing was done.

import { refresh } from "../sidebar/conversation-list.js";
import { post } from "../sidebar/conversation-actions.js";

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("[data-answers]")) return;
  event.preventDefault();
  const answer = await post(form.action, Object.fromEntries(new FormData(form)));
  if (!answer.ok) return say(form, answer.text);
  form.closest("dialog").close();
  form.reset();
  refresh();
  htmx.ajax("GET", answer.text, { target: "#main", swap: "innerHTML", push: "true" });
});

document.addEventListener("beforetoggle", ({ target, newState }) => {
  const form = newState === "open" && target.querySelector?.(":scope > [data-answers]");
  if (form) say(form, "");
}, true);

function say(form, problem) {
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
