// Menus: popovers of the class "menu", each beside the button that opened it. The browser opens them
// and closes them again by Escape or a click elsewhere; here they get their place, the arrow keys go
// through what they hold, and the focus comes back to the button.

import { OURS } from "./foreign.js";

const GAP = 4; // px between the button and its menu
const ITEMS = "a[href], button, input:checked";

let opener = null; // the button of the menu that is open or was last

const openMenu = () => document.querySelector(".menu:popover-open");

// Whose menu it is. A second button of an open menu would close it only.
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.(`button[popovertarget]${OURS}`);
  if (!button) return;
  if (button !== opener) openMenu()?.hidePopover();
  opener = button;
}, true);

document.addEventListener("beforetoggle", ({ target, newState }) => {
  if (target.matches(".menu") && newState === "open") place(target);
}, true);

document.addEventListener("toggle", ({ target, newState }) => {
  if (!target.matches(".menu")) return;
  opener?.setAttribute("aria-expanded", newState === "open");
  if (newState === "open") shownItems(target)[0].focus();
}, true);

// Below the button or above it, and along its left or right side: where there is more room.
function place(menu) {
  const { left, right, top, bottom } = opener.getBoundingClientRect();
  const { clientWidth: width, clientHeight: height } = document.documentElement;
  const isBelow = bottom < height / 2;
  const isLeft = left < width / 2;
  menu.style.inset = [
    isBelow ? `${bottom + GAP}px` : "auto",
    isLeft ? "auto" : `${width - right}px`,
    isBelow ? "auto" : `${height - top + GAP}px`,
    isLeft ? `${left}px` : "auto",
  ].join(" ");
  menu.style.maxHeight = `${(isBelow ? height - bottom : top) - 2 * GAP}px`;
}

export function closeMenu() {
  const menu = openMenu();
  menu?.hidePopover();
  if (menu) opener.focus();
}

document.addEventListener("keydown", (event) => {
  const menu = openMenu();
  if (!menu) return;
  const step = menu.contains(event.target) && STEPS[event.key];
  if (event.key === "Escape") closeMenu();
  else if (step) step(shownItems(menu)).focus();
  else return;
  event.preventDefault(); // or it stopped a reply, too
}, true);

const shownItems = (menu) => [...menu.querySelectorAll(ITEMS)].filter((item) => item.offsetParent);

const next = (items, step) =>
  items.at((items.indexOf(document.activeElement) + step) % items.length);

const STEPS = {
  ArrowDown: (items) => next(items, 1),
  ArrowUp: (items) => next(items, -1),
  Home: (items) => items[0],
  End: (items) => items.at(-1),
};
