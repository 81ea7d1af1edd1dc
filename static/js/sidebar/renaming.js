// Renames a conversation where its title is: in its row or above the thread, from its menu, with F2, or
// with a double click on the row or a click on the title above the thread. Enter and a click elsewhere
// save, Escape cancels. Frames find the row by its id and would replace the input, so it has another id
// meanwhile.

import { refresh } from "./conversation-list.js";
import { OURS } from "../page/untrusted-html.js";
import { post } from "./conversation-actions.js";
import { tell } from "../page/toast.js";

const MAX_LENGTH = 80; // characters
const SHOWN = `#title:not([data-conversation=""], [data-temporary])${OURS}`;

export function rename(row) {
  if (document.querySelector(".renaming") || !row.querySelector("a")) return;
  row.id = `renaming-${row.dataset.id}`;
  edit(row.querySelector(".conversation-title"), row, row.querySelector("button").dataset.url, () => {
    row.id = `nav-${row.dataset.id}`;
    return row.querySelector("a");
  });
}

export function renameShown() {
  const title = document.querySelector(SHOWN);
  const options = document.getElementById("chat-options");
  if (!title || document.querySelector(".renaming")) return;
  title.hidden = true;
  edit(title, title.parentElement, options.dataset.url, () => {
    document.getElementById("title").hidden = false; // a frame may have replaced it
    return options;
  });
}

// `end` undoes what was done for editing, and returns what gets the focus.
function edit(title, place, url, end) {
  const form = document.createElement("form");
  const input = document.createElement("input");
  form.className = "renaming";
  Object.assign(input, { value: title.textContent.trim(), maxLength: MAX_LENGTH, dir: "auto", ariaLabel: "Title" });
  form.append(input);
  if (place === title.parentElement) title.after(form);
  else place.append(form);
  input.select();
  input.focus();

  const close = () => {
    const hadFocus = form.contains(document.activeElement);
    form.dataset.saves = ""; // removing the input fires blur, which must not save
    form.remove();
    const next = end();
    if (hadFocus) next.focus();
    refresh();
  };
  const save = async () => {
    const newTitle = input.value.trim();
    if ("saves" in form.dataset || !form.isConnected) return;
    if (!newTitle || newTitle === title.textContent.trim()) return close();
    form.dataset.saves = "";
    const answer = await post(`${url}rename/`, { title: newTitle });
    delete form.dataset.saves;
    if (!answer.ok) return tell(answer.text); // the input stays
    title.textContent = newTitle;
    close();
  };
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Escape") return;
    event.preventDefault();
    close();
  });
  input.addEventListener("blur", save);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save();
  });
}

// A list requested earlier would replace the input. The end of renaming requests it again.
document.addEventListener("htmx:before:swap", (event) => {
  const source = event.detail.ctx.sourceElement;
  const isList = source?.matches("#lists, #project-chats, #lists *, #project-chats *");
  if (isList && source.querySelector(".renaming")) event.preventDefault();
});

document.addEventListener("dblclick", (event) => {
  const link = event.target.closest?.(`a.conversation-row${OURS}`);
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  rename(link.closest("li"));
});

document.addEventListener("click", ({ target }) => target.closest?.(SHOWN) && renameShown());

document.addEventListener("keydown", (event) => {
  const row = event.key === "F2" && event.target.closest?.(`.conversation${OURS}`);
  if (!row) return;
  event.preventDefault();
  rename(row);
});
