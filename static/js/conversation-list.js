// The list of conversations marks the one that is shown, and catches up with other tabs when this
// one is looked at again, with as many rows as it had: it keeps its place.

export function refresh() {
  const nav = document.getElementById("conversations");
  const rows = nav.querySelectorAll(".conversation").length;
  nav.setAttribute("hx-vals", JSON.stringify({ rows }));
  htmx.trigger(nav, "refresh");
}

function markCurrent() {
  for (const link of document.querySelectorAll("#conversation-list a")) {
    if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

document.addEventListener("chat:shown", markCurrent);
document.addEventListener("chat:named", markCurrent);
document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.closest?.("#conversation-list")) markCurrent();
});

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});
