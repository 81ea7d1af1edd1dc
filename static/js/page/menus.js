// Menus: popovers with the class "menu" next to the button that opened them. The browser opens and
// closes them; this positions them, moves through their items with the arrow keys, and returns the
// focus to the button.

import { OURS } from "./untrusted-html.js";

const GAP = 4; // px between the button and its menu
const ITEMS = "a[href], button, input:checked";

let opener = null; // the button of the menu that is open or was last

const openMenu = () => document.querySelector(".menu:popover-open");

// Remembers the opener. Another button of the same menu would only close it if it is open.
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

// Below or above the button, aligned left or right: where there is more room.
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
  event.preventDefault(); // or Escape would stop a reply, too
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
