// Opens and closes the panel with a chat's settings. Loaded by static/js/lazy.js.
//
// In a new chat the panel's fields belong to the composer, so closing only hides it. Once that chat is
// stored, its own panel takes its place.

import { fetchDialog } from "./fetched-dialogs.js";
import { tell } from "./toast.js";
import { OURS } from "./untrusted-html.js";

const FAILED = "The settings couldn't be loaded. Try again in a moment.";

const panel = () => document.getElementById("chat-settings");
const opener = () => document.getElementById("settings-opener");

let isLoading = false;

function address() {
  const { url } = document.getElementById("composer-state").dataset;
  const page = new URL(url ? `${url}settings/` : opener().dataset.address, location);
  page.searchParams.set("model", document.getElementById("model").value);
  return page.pathname + page.search;
}

async function load() {
  if (isLoading) return;
  isLoading = true;
  await fetchDialog(address(), "chat-settings", "#main").catch(() => tell(FAILED));
  isLoading = false;
}

function show(isShown) {
  if (!panel()) return;
  panel().hidden = !isShown;
  opener().setAttribute("aria-expanded", isShown);
  if (isShown) panel().focus();
  else opener().focus();
}

document.addEventListener("click", async ({ target }) => {
  if (target.closest?.(`[data-closes-settings]${OURS}`)) show(false);
  if (!target.closest?.(`[data-settings]${OURS}`)) return;
  const isShown = panel() && !panel().hidden;
  if (!panel()) await load();
  show(!isShown);
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !event.target.closest?.("#chat-settings")) return;
  event.preventDefault(); // or a running reply would stop
  event.stopPropagation();
  show(false);
}, true);

document.addEventListener("chat:named", async () => {
  if (!panel()) return;
  const isShown = !panel().hidden;
  panel().remove();
  if (isShown) await load();
});
