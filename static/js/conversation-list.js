// The sidebar's lists: they mark the conversation that is shown, and are drawn anew where the server
// says that rows stand elsewhere, and when this tab is looked at again: from the row that was their
// first on, and with as many, so that they keep their place. Which list is shown (that of the day's
// work, the archive, the trash) says data-shelf.

import { show } from "./sidebar.js";

const lists = () => document.getElementById("lists");
export const shelf = () => document.getElementById("conversation-lists").dataset.shelf;

export function refresh(wanted = shelf()) {
  if (document.querySelector(".renaming")) return; // once that is done
  const values = { shelf: wanted, ...(wanted === shelf() ? place() : {}) };
  lists().setAttribute("hx-vals", JSON.stringify(values));
  htmx.trigger(lists(), "refresh");
}

function place() {
  const rows = document.querySelectorAll("#conversation-list > .conversation");
  const isTop = !document.querySelector("#conversation-list > .newer");
  const { used: at, id } = rows[0]?.dataset ?? {};
  return { rows: rows.length, ...(isTop ? {} : { at, id }) };
}

function markCurrent() {
  for (const link of document.querySelectorAll("#lists a")) {
    if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

document.addEventListener("chat:shown", markCurrent);
document.addEventListener("chat:named", markCurrent);
document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "list-state") refresh();
  else if (target.closest?.("#lists")) markCurrent();
});

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});

document.addEventListener("click", ({ target }) => {
  const link = target.closest?.("[data-shelf-link]");
  if (!link) return;
  document.querySelector(".menu:popover-open")?.hidePopover();
  show(); // a command may have pressed it
  lists().scrollTop = 0;
  refresh(link.dataset.shelfLink);
});
