// Opens and closes the panel with a chat's settings. Loaded by static/js/page/lazy.js.
//
// In a new chat the panel's fields belong to the composer, so closing only hides it. Once that chat is
// stored, its own panel takes its place, which saves itself. It follows what is chosen at the composer and
// saved in other tabs; while one types into it, only the composer's controls.

import { moveToPanel, markTouched } from "./draft.js";
import { fetchDialog } from "../page/fetched-dialogs.js";
import { conversation } from "../page/state.js";
import { follow, lead, refresh } from "./panel-models.js";
import { isSaving, save } from "./saving.js";
import { tell } from "../page/toast.js";
import "./typed-meanwhile.js";
import { OURS } from "../page/untrusted-html.js";

const FAILED = "The settings couldn't be loaded. Try again in a moment.";

const panel = () => document.getElementById("chat-settings");
const holder = () => document.getElementById("settings-state");
const opener = () => document.getElementById("settings-opener");

let isLoading = false;

function address() {
  const { url } = document.getElementById("composer-state").dataset;
  const page = new URL(url ? `${url}settings/` : opener().dataset.address, location);
  page.searchParams.set("model", document.getElementById("model").value);
  page.searchParams.set("others", document.querySelector("#others input").value);
  return page.pathname + page.search;
}

async function load() {
  if (isLoading) return;
  isLoading = true;
  const isStarted = holder().querySelector("[name=draft]");
  const fill = () => panel() && !conversation() && moveToPanel();
  await fetchDialog(address(), "chat-settings", "#main", fill).catch(() => tell(FAILED));
  isLoading = false;
  if (panel() && !conversation() && isStarted) refresh();
}

function catchUp() {
  if (!panel() || !conversation() || isSaving() || panel().dataset.digest === holder().dataset.digest) return;
  if ("unsaved" in panel().dataset) follow();
  else if (panel().hidden) panel().remove();
  else htmx.ajax("GET", address(), { target: "#chat-settings", swap: "outerHTML" }).catch(() => {});
}

function show(isShown) {
  if (!panel()) return;
  if (!isShown) save();
  panel().hidden = !isShown;
  opener().setAttribute("aria-expanded", isShown);
  if (!isShown) opener().focus();
  else if (!panel().contains(document.activeElement)) panel().focus();
}

document.addEventListener("click", async ({ target }) => {
  if (target.closest?.(`[data-closes-settings]${OURS}`)) show(false);
  if (!target.closest?.(`[data-settings]${OURS}`)) return;
  if (panel()) {
    if (panel().hidden) refresh();
    show(panel().hidden);
    return;
  }
  await load();
  if (!panel()?.hidden) show(true); // else it was closed while its styles were loading
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !event.target.closest?.("#chat-settings")) return;
  event.preventDefault(); // or a running reply would stop
  event.stopPropagation();
  show(false);
}, true);

document.addEventListener("input", ({ target }) => {
  if (target.parentElement === holder()) follow();
  if (!target.name || target.name === "preset" || !target.closest("#chat-settings")) return;
  panel().dataset.unsaved = "";
  if (conversation()) return;
  lead();
  markTouched();
});

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "settings-state") catchUp();
});

document.addEventListener("chat:gone", () => panel()?.remove());

document.addEventListener("chat:named", async () => {
  if (!panel()) return;
  const isShown = !panel().hidden;
  panel().remove();
  if (isShown) await load();
});
