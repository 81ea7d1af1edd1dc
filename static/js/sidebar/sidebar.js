// The sidebar can be folded (remembered in a cookie, so that the server draws the next page the same
// way), and covers the page on a phone, like a dialog. While it is open, the actions for selected rows
// are above its foot; otherwise they are below the page, for the rows on a project's page.

const app = document.getElementById("app");
const sidebar = document.getElementById("sidebar");
const PHONE = matchMedia("(max-width: 48rem), (max-height: 30rem) and (pointer: coarse)");
const YEAR = 31536000; // seconds
const FOLDED = /(^|; )sidebar=folded(;|$)/;

const isFolded = () => FOLDED.test(document.cookie);
const isOpen = () => app.dataset.sidebar === "open";
const toggles = () => document.querySelectorAll("[data-sidebar-toggle]");

function set(open) {
  app.dataset.sidebar = open ? "open" : "closed";
  const covers = open && PHONE.matches;
  placeHands(open ? sidebar : app, open ? document.querySelector(".sidebar-foot") : null);
  sidebar.inert = !open;
  sidebar.role = covers ? "dialog" : "complementary";
  sidebar.ariaModal = covers ? "true" : null;
  document.getElementById("main").inert = covers;
  toggles().forEach((toggle) => toggle.setAttribute("aria-expanded", open));
}

function placeHands(parent, before) {
  const actions = document.getElementById("list-actions");
  if (actions.parentElement !== parent) parent.insertBefore(actions, before);
}

function toggle() {
  const open = !isOpen();
  set(open);
  if (!PHONE.matches) remember(open ? "open" : "folded");
  const target = open ? ".sidebar [data-sidebar-toggle]" : ".topbar [data-sidebar-toggle]";
  document.querySelector(target).focus();
}

export function show() {
  if (!isOpen()) toggle();
}

function remember(state) {
  document.cookie = `sidebar=${state}; path=/; max-age=${YEAR}; samesite=lax`;
}

document.addEventListener("click", ({ target }) => {
  if (target.closest?.("[data-sidebar-toggle]")) toggle();
  else if (target === app && PHONE.matches && isOpen()) toggle(); // the backdrop
});

// Whether Escape belongs to something above it, such as a menu or dialog.
const isTakenByOther = (event) =>
  event.defaultPrevented || document.querySelector(":modal, :popover-open, .renaming, [data-selecting]");

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !PHONE.matches || !isOpen() || isTakenByOther(event)) return;
  event.preventDefault();
  toggle();
}, true);

const atStart = () => set(!PHONE.matches && !isFolded());
PHONE.addEventListener("change", atStart);
document.addEventListener("chat:shown", atStart);
