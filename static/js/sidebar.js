// The sidebar: folds (remembered in a cookie, so that the next page comes as this one was left),
// lies over the page on a phone, marks the conversation that is shown, and catches up with other
// tabs when this one is looked at again.

const app = document.getElementById("app");
const sidebar = document.getElementById("sidebar");
const PHONE = matchMedia("(max-width: 48rem)");

const YEAR = 31536000; // seconds

const isFolded = () => /(^|; )sidebar=folded(;|$)/.test(document.cookie);
const isOpen = () => app.dataset.sidebar === "open";
const toggles = () => document.querySelectorAll("[data-sidebar-toggle]");

function set(open) {
  app.dataset.sidebar = open ? "open" : "closed";
  sidebar.inert = !open;
  document.getElementById("main").inert = open && PHONE.matches;
  toggles().forEach((toggle) => toggle.setAttribute("aria-expanded", open));
}

function toggle() {
  const open = !isOpen();
  set(open);
  if (!PHONE.matches) remember(open ? "open" : "folded");
  const target = open ? ".sidebar [data-sidebar-toggle]" : ".topbar [data-sidebar-toggle]";
  document.querySelector(target).focus();
}

function remember(state) {
  document.cookie = `sidebar=${state}; path=/; max-age=${YEAR}; samesite=lax`;
}

document.addEventListener("click", ({ target }) => {
  if (target.closest?.("[data-sidebar-toggle]")) toggle();
  else if (target === app && PHONE.matches && isOpen()) toggle(); // the backdrop
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !PHONE.matches || !isOpen()) return;
  event.preventDefault();
  toggle();
}, true);

const atStart = () => set(!PHONE.matches && !isFolded());
PHONE.addEventListener("change", atStart);
document.addEventListener("chat:shown", () => {
  atStart();
  markCurrent();
});

// ---- the list

document.addEventListener("chat:named", markCurrent);
document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.closest?.("#conversation-list")) markCurrent();
});

function markCurrent() {
  for (const link of document.querySelectorAll("#conversation-list a")) {
    if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) htmx.trigger("#conversations", "refresh");
});

// The account menu closes like a menu.
document.addEventListener("click", ({ target }) => {
  const menu = sidebar.querySelector(".account[open]");
  if (menu && !menu.contains(target)) menu.open = false;
});
