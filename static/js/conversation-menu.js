// The menu of a conversation in a list: shows the actions available in that list.

import { choose } from "./conversation-actions.js";
import { copyMarkdown } from "./copying-markdown.js";
import { openExport } from "./exporting.js";
import { fetchFrom } from "./fetched-dialogs.js";
import { closeMenu } from "./menus.js";
import { projectOf, folderOf } from "./conversation-list.js";
import { OURS } from "./untrusted-html.js";
import { rename } from "./renaming.js";
import { startSelecting } from "./selecting.js";

let row = null; // the row whose menu was opened last

document.addEventListener("click", ({ target }) => {
  const options = target.closest?.(`.conversation > button${OURS}`);
  if (!options) return;
  row = options.closest("li");
  choose(new Map([[row.dataset.id, projectOf(row)]]));
}, true);

document.addEventListener("beforetoggle", ({ target, newState }) => {
  if (target.id !== "conversation-menu" || newState !== "open") return;
  const place = folderOf(row);
  for (const item of target.children) item.hidden = !item.dataset.in.split(" ").includes(place);
  const [pin, unpin] = ["pin", "unpin"].map((one) => target.querySelector(`[data-change=${one}]`));
  const address = row.querySelector("button").dataset.url;
  fetchFrom("conversation-usage", `${address}usage/`);
  fetchFrom("share-chat", `${address}share/`);
  if (place === "list") {
    pin.hidden = "pinned" in row.dataset;
    unpin.hidden = !pin.hidden;
  }
}, true);

document.addEventListener("click", ({ target }) => {
  const item = target.closest?.("#conversation-menu button");
  if (!item || item.dataset.opens) return;
  closeMenu();
  if ("rename" in item.dataset) rename(row);
  if ("select" in item.dataset) startSelecting(row);
  const { url } = row.querySelector("button").dataset;
  if ("export" in item.dataset) openExport([["ids", row.dataset.id]], url);
  if ("copyChat" in item.dataset) copyMarkdown(`${url}markdown/`);
});
