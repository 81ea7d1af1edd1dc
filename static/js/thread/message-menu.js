// The menu of a message: retry with another model, fork the conversation, or delete the message with
// everything after it. Deleting can be undone until the person continues the conversation. A reply whose
// model takes no images has a button that retries with one that does.

import { OURS } from "../page/untrusted-html.js";
import { fetchFrom } from "../page/fetched-dialogs.js";
import { closeMenu } from "../page/menus.js";
import { conversation } from "../page/state.js";
import { box, focusBox, isEmpty } from "../composer/message-box.js";
import { copyMarkdown } from "./copying.js";
import { askForModel } from "../composer/model-picker.js";
import "../sharing/several-people.js";

const GOES_ON = ["prompt", "edit", "continue", "retry", "fork"];

const menu = document.getElementById("message-menu");
const undo = () => document.getElementById("undo");

let opener = null; // the button of the message whose menu was opened last
let model = ""; // the model chosen for the retry

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.(`[popovertarget="message-menu"]${OURS}`);
  if (!button) return;
  opener = button;
  fetchFrom("share-chat", `/c/${conversation()}/share/?message=${button.dataset.about}`);
  for (const item of menu.querySelectorAll("[data-retry-with], [data-leave-out]")) item.hidden = !button.dataset.model;
  menu.querySelector("[data-copy-markdown]").hidden = !sourceOf(button);
}, true);

menu.addEventListener("click", ({ target }) => {
  const item = target.closest("button");
  if (!item) return;
  closeMenu();
  if ("retryWith" in item.dataset) retryWith(() => true);
  if ("copyMarkdown" in item.dataset) copyMarkdown(sourceOf(opener));
});

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.(`[data-answer-with]${OURS}`);
  if (!button) return;
  opener = button;
  retryWith(({ images }) => images !== "no");
});

// The address of the message's text: a reply's is at its button to copy it, a prompt's at that to edit it.
function sourceOf(button) {
  const actions = button.closest(".actions");
  const { copy, text } = actions.querySelector("[data-copy], [data-text]")?.dataset ?? {};
  return copy ?? text;
}

function retryWith(isFit) {
  const take = (value) => {
    model = value;
    document.getElementById("retry-with").click();
  };
  askForModel(opener, opener.dataset.model, take, isFit);
}

document.addEventListener("htmx:ws:before:message:outgoing", ({ detail: { message: { values } } }) => {
  if (["fork", "delete"].includes(values.action)) values.message = opener.dataset.about;
  if (values.up_to === "") values.up_to = opener.dataset.about;
  if (values.action === "retry" && !values.reply) {
    Object.assign(values, { reply: opener.dataset.about, model });
  }
  if (GOES_ON.includes(values.action)) undo().replaceChildren();
});

document.addEventListener("click", ({ target }) => {
  if (!target.closest?.(`#undo [data-dismiss]${OURS}`)) return;
  undo().replaceChildren();
  focusBox();
});

// After deleting with the keyboard the focus is on Undo, unless the person is typing by then.
document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target !== undo()) return;
  const isTyping = document.activeElement === box() && !isEmpty();
  if (!target.firstElementChild) focusBox();
  else if (!isTyping) target.querySelector("button").focus({ preventScroll: true });
});
