// The menu of a conversation, in a list or above the thread: shows the actions available there.

import { choose } from "./conversation-actions.js";
import { copyMarkdown } from "../thread/copying.js";
import { openExport } from "../exports/dialog.js";
import { fetchFrom } from "../page/fetched-dialogs.js";
import { closeMenu } from "../page/menus.js";
import { folderOf, projectOf } from "./conversation-list.js";
import { OURS } from "../page/untrusted-html.js";
import { rename, renameShown } from "./renaming.js";
import { startSelecting } from "./selecting.js";
import "../sharing/several-people.js";

let row = null; // the row whose menu was opened last; null for the one above the thread
let chat = {}; // its conversation: {id, url, folder, project, isPinned}

function ofRow() {
  const { id, pinned } = row.dataset;
  const { url } = row.querySelector("button").dataset;
  return { id, url, folder: folderOf(row), project: projectOf(row), isPinned: pinned !== undefined };
}

function ofHeader({ dataset: { id, url, folder, project, pinned } }) {
  return { id, url, folder, project, isPinned: pinned !== undefined };
}

document.addEventListener("click", ({ target }) => {
  const options = target.closest?.(`:is(.conversation > button, #chat-options)${OURS}`);
  if (!options) return;
  row = options.closest("li");
  chat = row ? ofRow() : ofHeader(options);
  choose(new Map([[chat.id, chat.project]]));
}, true);

document.addEventListener("beforetoggle", ({ target, newState }) => {
  if (target.id !== "conversation-menu" || newState !== "open") return;
  for (const item of target.children) item.hidden = !item.dataset.in.split(" ").includes(chat.folder);
  const [pin, unpin] = ["pin", "unpin"].map((one) => target.querySelector(`[data-change=${one}]`));
  fetchFrom("conversation-usage", `${chat.url}usage/`);
  fetchFrom("share-chat", `${chat.url}share/`);
  if (!row) target.querySelector("[data-select]").hidden = true;
  if (chat.folder !== "list") return;
  pin.hidden = chat.isPinned;
  unpin.hidden = !chat.isPinned;
}, true);

document.addEventListener("click", ({ target }) => {
  const item = target.closest?.("#conversation-menu button");
  if (!item || item.dataset.opens) return;
  closeMenu();
  if ("rename" in item.dataset) row ? rename(row) : renameShown();
  if ("select" in item.dataset) startSelecting(row);
  if ("export" in item.dataset) openExport([["ids", chat.id]], chat.url);
  if ("copyChat" in item.dataset) copyMarkdown(`${chat.url}markdown/`);
});
