// The sidebar's lists. They mark the shown conversation, and are reloaded when the server says that
// rows have moved and when this tab becomes visible: from the same first row, with the same number of
// rows, so that they keep their position. data-folder says which list is shown (the main list, the
// archive or the trash). The list on a project's page is reloaded with them.

import { show } from "./sidebar.js";

let requestedFolder = null; // the folder that was requested and is not drawn yet

const lists = () => document.getElementById("lists");
const projectList = () => document.getElementById("project-chats");
export const folder = () => document.getElementById("conversation-lists").dataset.folder;

// The folder of a row, and the project whose page it is on.
export const folderOf = (row) => (row?.closest("#project-chats") ? "" : folder()) || "list";
export const projectOf = (row) => row.closest("[data-project-page]")?.dataset.projectPage ?? "";

export function refresh(folderName = requestedFolder ?? folder()) {
  if (document.querySelector(".renaming")) return; // the end of renaming refreshes again
  requestedFolder = folderName;
  ask(lists(), { folder: folderName, ...(folderName === folder() ? place(lists()) : {}) });
  if (projectList()) ask(projectList(), { project: projectOf(projectList()), ...place(projectList()) });
}

function ask(list, values) {
  list.setAttribute("hx-vals", JSON.stringify(values));
  htmx.trigger(list, "refresh");
}

function place(list) {
  const rows = list.querySelectorAll(".infinite > .conversation");
  const isTop = !list.querySelector(".infinite > .newer");
  const { used: at, id } = rows[0]?.dataset ?? {};
  return { rows: rows.length, ...(isTop ? {} : { at, id }) };
}

// A moved row is in one list only: when one list draws it, it is removed from the other.
function removeTwins(drawn) {
  const other = drawn === projectList() ? lists() : projectList();
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
  if (folder() === requestedFolder) requestedFolder = null;
  if (ctx.sourceElement?.matches("#lists, #project-chats")) removeTwins(ctx.sourceElement);
});

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});

document.addEventListener("click", ({ target }) => {
  const link = target.closest?.("[data-folder-link]");
  if (!link) return;
  document.querySelector(".menu:popover-open")?.hidePopover();
  show(); // a search command may have clicked the link
  lists().scrollTop = 0;
  refresh(link.dataset.folderLink);
});

// ---- a list that was requested may be older than a frame that arrives before it. If that frame removed the
// mark of a running reply, the mark is removed again when the list arrives; if it added a row, the list is
// requested again.

const GONE = /delete target:#(running-[0-9a-f-]+)/;
const ROW = /<li class="conversation" id="nav-/;

const askedAt = new WeakMap(); // request → time
const removedAt = new Map(); // a mark's id → time
let broughtAt = 0; // time of the last added row

document.addEventListener("htmx:ws:before:message:incoming", ({ detail: { message } }) => {
  const mark = GONE.exec(message.data)?.[1];
  if (mark) removedAt.set(mark, performance.now());
  if (ROW.test(message.data)) broughtAt = performance.now();
});

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  askedAt.set(ctx, performance.now());
});

document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
  if (!askedAt.has(ctx)) return;
  for (const [mark, at] of removedAt) {
    if (at > askedAt.get(ctx)) document.getElementById(mark)?.remove();
  }
  if (ctx.sourceElement?.matches("#lists, #project-chats") && broughtAt > askedAt.get(ctx)) refresh();
});
