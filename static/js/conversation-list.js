// The sidebar's lists: they mark the conversation that is shown, and are drawn anew where the server
// says that rows stand elsewhere, and when this tab is looked at again: from the row that was their
// first on, and with as many, so that they keep their place. Which list is shown (that of the day's
// work, the archive, the trash) says data-shelf. The list of a project, on its page, goes along.

import { show } from "./sidebar.js";

let wanted = null; // a shelf that was asked for and is not drawn yet

const lists = () => document.getElementById("lists");
const filed = () => document.getElementById("project-chats");
export const shelf = () => document.getElementById("conversation-lists").dataset.shelf;

// The shelf that a row stands on, and the project on whose page it does.
export const shelfOf = (row) => (row?.closest("#project-chats") ? "" : shelf()) || "list";
export const projectOf = (row) => row.closest("[data-project-page]")?.dataset.projectPage ?? "";

export function refresh(asked = wanted ?? shelf()) {
  if (document.querySelector(".renaming")) return; // once that is done
  wanted = asked;
  ask(lists(), { shelf: asked, ...(asked === shelf() ? place(lists()) : {}) });
  if (filed()) ask(filed(), { project: projectOf(filed()), ...place(filed()) });
}

function ask(list, values) {
  list.setAttribute("hx-vals", JSON.stringify(values));
  htmx.trigger(list, "refresh");
}

function place(list) {
  const rows = list.querySelectorAll(".endless > .conversation");
  const isTop = !list.querySelector(".endless > .newer");
  const { used: at, id } = rows[0]?.dataset ?? {};
  return { rows: rows.length, ...(isTop ? {} : { at, id }) };
}

// A row that was moved stands in one list: where it is drawn first, it leaves the other.
function dropTwins(drawn) {
  const other = drawn === filed() ? lists() : filed();
  for (const row of drawn.querySelectorAll(".conversation")) {
    other?.querySelector(`#${CSS.escape(row.id)}`)?.remove();
  }
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

document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
  if (shelf() === wanted) wanted = null;
  if (ctx.sourceElement?.matches("#lists, #project-chats")) dropTwins(ctx.sourceElement);
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
