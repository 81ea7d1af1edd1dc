// Renames a conversation in its row, from its menu, with F2 or a double click. Enter and a click
// elsewhere save, Escape cancels. Frames find the row by its id and would replace the input, so the row
// has another id meanwhile.

import { refresh } from "./conversation-list.js";
import { OURS } from "./untrusted-html.js";
import { post } from "./conversation-actions.js";
import { tell } from "./toast.js";

const MAX_LENGTH = 80; // characters

export function rename(row) {
  if (document.querySelector(".renaming") || !row.querySelector("a")) return;
  const title = row.querySelector(".conversation-title");
  const form = document.createElement("form");
  const input = document.createElement("input");
  form.className = "renaming";
  Object.assign(input, { value: title.textContent, maxLength: MAX_LENGTH, dir: "auto", ariaLabel: "Title" });
  form.append(input);
  row.id = `renaming-${row.dataset.id}`;
  row.append(form);
  input.select();
  input.focus();
  input.addEventListener("keydown", (event) => keys(event, row, form));
  input.addEventListener("blur", () => save(row, form));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save(row, form);
  });
}

function keys(event, row, form) {
  event.stopPropagation();
  if (event.key !== "Escape") return;
  event.preventDefault();
  end(row, form);
}

async function save(row, form) {
  const title = row.querySelector(".conversation-title");
  const wanted = form.firstChild.value.trim();
  if ("saves" in form.dataset || !form.isConnected) return;
  if (!wanted || wanted === title.textContent) return end(row, form);
  form.dataset.saves = "";
  const answer = await post(`${row.querySelector("button").dataset.url}rename/`, { title: wanted });
  delete form.dataset.saves;
  if (!answer.ok) return tell(answer.text); // the input stays
  title.textContent = wanted;
  end(row, form);
}

function end(row, form) {
  const hadFocus = form.contains(document.activeElement);
  form.dataset.saves = ""; // removing the input fires blur, which must not save
  form.remove();
  row.id = `nav-${row.dataset.id}`;
  if (hadFocus) row.querySelector("a").focus();
  refresh();
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

document.addEventListener("keydown", (event) => {
  const row = event.key === "F2" && event.target.closest?.(`.conversation${OURS}`);
  if (!row) return;
  event.preventDefault();
  rename(row);
});
