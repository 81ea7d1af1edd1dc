// The panel with a chat's settings. Loaded by static/js/page/lazy.js.
//
// In a new chat the panel's fields belong to the composer, so closing only hides it. Once that chat is
// stored, its own panel takes its place, which saves itself. It follows what is chosen at the composer
// and saved in other tabs; while one types into it, only the composer's controls.
//
// It shows the settings of all models, or of one. The controls at the composer are those of all models:
// they and the panel's fields follow each other.

import { draftFields, isTouched, markTouched, moveToPanel } from "./draft.js";
import { fetchDialog } from "../page/fetched-dialogs.js";
import { conversation } from "../page/state.js";
import { isSaving, save } from "./saving.js";
import { tell } from "../page/toast.js";
import { OURS } from "../page/untrusted-html.js";
import { redraw } from "../files/attachments.js";

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
  if (panel() && !conversation() && isStarted) refreshModel();
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
    if (panel().hidden) refreshModel();
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

// ---- whose settings it shows

const meter = () => document.getElementById("context-meter");
const isOfOne = () => Boolean(panel()?.querySelector("[name=settings_of]")?.value);

let isLate = false; // with what was chosen at the composer

// Shows the settings of the chosen model, or the choice of other models, and keeps what was typed. The
// choice may be made before htmx knows the select.
function refreshModel(value) {
  const select = document.getElementById("id_show_of");
  if (!select) return;
  select.value = value ?? select.value;
  htmx.process(select);
  select.dispatchEvent(new Event("refresh"));
}

// Calls `pass` with a control's field at the composer and that in the panel.
function eachControl(pass) {
  for (const name of ["reasoning_effort", "web_search"]) {
    const [ours, theirs] = [holder(), panel()].map((place) => place?.querySelector(`[name=${name}]`));
    if (ours && theirs) pass(ours, theirs);
  }
}

// Takes over what the composer's controls say. If the panel shows one model, it shows all models first.
function follow() {
  isLate = isOfOne();
  if (isLate) refreshModel("");
  else eachControl(({ value }, theirs) => (theirs.value = value));
}

// Sets the composer's controls.
const lead = () => isOfOne() || eachControl((ours, { value }) => (ours.value = value));

// The meter counts the maximum output of a new chat while it is typed; that of others once it is saved.
function countOutput() {
  const { max_output_tokens: output, settings_of: of } = draftFields();
  if (output === undefined) return;
  const ofModels = JSON.parse(meter().dataset.figures);
  const [system, before] = ofModels[of] ?? ofModels[""];
  if (Number(output) === Number(before)) return;
  ofModels[of] = [system, Number(output)];
  meter().dataset.figures = JSON.stringify(ofModels);
  redraw(); // which has the meter read them
}

function onSettled() {
  const { figures, presetFiles, images, own } = panel().dataset;
  if (figures) {
    Object.assign(meter().dataset, { figures, presetFiles, images });
    redraw();
  }
  if (isLate && !isOfOne()) follow();
  isLate = false;
  if (conversation()) return;
  lead();
  if (own) holder().dataset.own = own;
  if (isTouched()) markTouched();
}

document.addEventListener("htmx:after:settle", ({ target }) => target.id === "chat-settings" && onSettled());
document.addEventListener("change", ({ target }) => target.id === "id_show_of" && refreshModel());
document.addEventListener("chat:models", () => panel()?.hidden === false && refreshModel());
document.addEventListener("chat:chosen", countOutput);
countOutput();
