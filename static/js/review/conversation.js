// A conversation's page in the review: keyboard shortcuts, notes on a message, and news of what other
// reviewers do meanwhile. After a form was submitted, the focus and the scroll position are restored.

const EVERY = 5000; // ms
const MARGIN = 16; // px, above and below what is beside the chat
const MAX_LENGTH = 60; // characters of a message shown at a note

const message = document.querySelector("input[name=message]");
const target = document.getElementById("note-target");
const beside = document.querySelector(".reviewing > aside");
const changes = document.getElementById("changes");
const messages = [...document.querySelectorAll(".review-message")];

function step(by) {
  const present = messages.findIndex((one) => one.contains(document.activeElement));
  const next = present < 0 ? messages[0] : messages[present + by];
  next?.focus();
  next?.scrollIntoView({ block: "start" });
}

function pointAt(id) {
  message.value = id;
  target.hidden = !id;
  const there = document.getElementById(`m-${id}`);
  const link = target.querySelector("a");
  link.hash = there ? there.id : target.id;
  if (there) link.textContent = `“${firstWords(there)}”`;
}

function firstWords(one) {
  const text = one.querySelector(".bubble, [data-region=answer]") ?? one.querySelector("h2");
  const [...letters] = text.innerText.trim().replace(/\s+/g, " ");
  return letters.slice(0, MAX_LENGTH).join("") + (letters.length > MAX_LENGTH ? "…" : "");
}

function noteOn(id) {
  pointAt(id);
  message.form.elements.text.focus();
}

const press = (key) => {
  const control = document.querySelector(`[data-key="${key}"]`);
  if (control?.matches("input")) control.focus();
  else control?.click();
};

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  n: () => noteOn(document.activeElement.closest(".review-message")?.dataset.id ?? ""),
  "?": () => document.getElementById("keys").showModal(),
};

function pressInField(event) {
  const { key, target: at } = event;
  if (key === "Escape") at.blur();
  if (key === "Enter" && (event.ctrlKey || event.metaKey) && at.matches("textarea")) at.form.requestSubmit();
}

document.addEventListener("keydown", (event) => {
  const { key, target: at } = event;
  if (at.closest("textarea, select, input:not([type=checkbox])")) return pressInField(event);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector(":modal") || !/^[jkn?1-4alopu]$/.test(key)) return;
  event.preventDefault();
  (KEYS[key] ?? press)(key);
});

document.addEventListener("click", ({ target: at }) => {
  const button = at.closest("[data-note]:not([hx-ignore] *), [data-whole]");
  if (button) noteOn(button.dataset.note ?? "");
});

async function poll() {
  if (document.hidden) return;
  const answer = await fetch(changes.dataset.url).catch(() => null);
  if (!answer?.ok || answer.redirected) return;
  const { told } = await answer.json();
  if (!told || told === changes.textContent) return;
  changes.textContent = told;
  changes.hidden = false;
}

// One that is taller than the window sticks by its end instead of its beginning.
function place() {
  const top = Math.min(MARGIN, innerHeight - beside.offsetHeight - MARGIN);
  beside.style.setProperty("--beside-top", `${top}px`);
}

new ResizeObserver(place).observe(beside);
addEventListener("resize", place);
// Chromium may honour `autofocus` after the page has loaded, when keys were pressed already.
const reason = document.querySelector("[data-focused]");
reason?.focus();
reason?.select();
pointAt(message.value);
setInterval(poll, EVERY);

// ---- the place, after a form was submitted

const KEY = "review-place";

// Returns a selector for the same control or message on the next page.
function nameOf(at) {
  const message = at.closest(".review-message");
  if (message) return `#${message.id}`;
  if (at.dataset.key) return `[data-key="${at.dataset.key}"]`;
  const section = at.closest("aside section")?.getAttribute("aria-labelledby");
  return section && `[aria-labelledby="${section}"] [type=submit]`;
}

document.querySelector(".reviewing > aside").addEventListener("submit", () => {
  const place = { at: nameOf(document.activeElement), y: scrollY };
  sessionStorage.setItem(KEY, JSON.stringify({ path: location.pathname, ...place }));
});

function comeBack({ path, at, y }) {
  // After a refused action, the messages at the top should be seen.
  if (path !== location.pathname || document.querySelector("main > .messages")) return;
  if (at) document.querySelector(at)?.focus({ preventScroll: true });
  scrollTo({ top: y, behavior: "instant" });
}

const left = sessionStorage.getItem(KEY);
sessionStorage.removeItem(KEY);
if (left) comeBack(JSON.parse(left));
