// Keyboard control of the review list: moving between rows, selecting them, and bulk actions.

const KEY = "review-row";

const rows = () => [...document.querySelectorAll(".review-list > li")];
const boxes = () => [...document.querySelectorAll(".review-list [name=rows]")];
const bar = document.getElementById("bulk");
let last = null; // the check box selected last, where a Shift-click range starts

const present = () => rows().findIndex((row) => row.contains(document.activeElement));

function step(by) {
  const at = present();
  const next = at < 0 ? rows()[0] : rows()[at + by];
  next?.querySelector(".chat > a").focus();
}

function tick(box, isTicked = !box.checked) {
  box.checked = isTicked;
  last = box;
  tell();
}

function tickThrough(box) {
  const [from, to] = [boxes().indexOf(last), boxes().indexOf(box)].sort((a, b) => a - b);
  for (const one of boxes().slice(Math.max(from, 0), to + 1)) one.checked = box.checked;
}

function tell() {
  const count = boxes().filter(({ checked }) => checked).length;
  const words = count ? `${count} selected` : "None selected";
  document.getElementById("ticked").textContent = words;
  bar.querySelector(".count").textContent = words;
}

function press(key) {
  if (!boxes().some(({ checked }) => checked)) return;
  const control = bar.querySelector(`[data-key="${key}"]`);
  if (control?.matches("select")) control.focus();
  else control?.click();
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  x: () => present() >= 0 && tick(boxes()[present()]),
  Escape: () => boxes().forEach((box) => tick(box, false)),
  "/": () => document.querySelector("form.filter [role=combobox]").focus(),
  "?": () => document.getElementById("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.closest("textarea, select, input:not([type=checkbox])")) return;
  if (document.querySelector(":modal") || (!(key in KEYS) && !/^[1-4alu]$/.test(key))) return;
  event.preventDefault();
  (KEYS[key] ?? press)(key);
});

document.addEventListener("click", ({ target, shiftKey }) => {
  if (!target.matches?.(".review-list [name=rows]")) return;
  if (shiftKey && last) tickThrough(target);
  last = target;
  tell();
});

// After a bulk action, the focus returns to the row, or to the one in its place.
bar?.addEventListener("submit", () => {
  const ticked = boxes().findIndex(({ checked }) => checked);
  const at = present() < 0 ? ticked : present();
  const id = rows()[at]?.querySelector(".chat > a").id;
  sessionStorage.setItem(KEY, JSON.stringify({ at, id }));
});

function comeBack({ at, id }) {
  const row = Math.min(at, rows().length - 1);
  (document.getElementById(id) ?? rows()[row]?.querySelector(".chat > a"))?.focus();
}

const left = sessionStorage.getItem(KEY);
sessionStorage.removeItem(KEY);
if (left) comeBack(JSON.parse(left));
