// What the menu of a conversation in the sidebar does: it is renamed or deleted by a dialog's form.
// What comes of it the server tells all tabs over their sockets, this one too.

import { refresh } from "./conversation-list.js";
import { OURS } from "./foreign.js";

let row = null; // the one whose menu was opened last

document.addEventListener("click", ({ target }) => {
  const options = target.closest?.(`.conversation > button${OURS}`);
  if (options) row = options.closest("li");
}, true);

document.addEventListener("beforetoggle", ({ target, newState }) => {
  const form = target.querySelector?.(":scope > [data-conversation-form]");
  if (form && newState === "open") prepare(form);
}, true);

function prepare(form) {
  const title = row.querySelector(".conversation-title").textContent;
  const { title: input } = form.elements;
  const quoted = form.querySelector("[data-title]");
  if (input) input.value = title;
  if (quoted) quoted.textContent = title;
  tell(form, "");
  form.action = `${row.querySelector("button").dataset.url}${form.dataset.conversationForm}/`;
}

function tell(form, problem) {
  const line = form.querySelector(".problem");
  line.textContent = problem;
  line.hidden = !problem;
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("[data-conversation-form]")) return;
  event.preventDefault();
  const answer = await post(form);
  if (!answer?.ok) return tell(form, await problemOf(answer));
  form.closest("dialog").close();
  document.querySelector(`#${row.id} > button`)?.focus(); // which may be another than before
  refresh();
});

const post = (form) =>
  fetch(form.action, {
    method: "POST",
    body: new FormData(form),
    headers: { "HX-Request": "true" },
    redirect: "manual",
  }).catch(() => null);

async function problemOf(answer) {
  if (answer?.status === 422) return answer.text();
  if (answer?.status === 404) return "This conversation is not here any more.";
  return "That did not work. Nothing was changed: try again in a moment.";
}
