// Whose settings the panel of a chat's settings shows: those of all models, or of one. The controls at the
// composer are those of all models: they and the panel's fields follow each other.

import { redraw } from "../files/attachments.js";
import { draftFields, isTouched, markTouched } from "./draft.js";
import { conversation } from "../page/state.js";

const panel = () => document.getElementById("chat-settings");
const holder = () => document.getElementById("settings-state");
const meter = () => document.getElementById("context-meter");
const isOfOne = () => Boolean(panel()?.querySelector("[name=settings_of]")?.value);

let isLate = false; // with what was chosen at the composer

// Shows the settings of the chosen model, or the choice of other models, and keeps what was typed. The
// choice may be made before htmx knows the select.
export function refresh(value) {
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
export function follow() {
  isLate = isOfOne();
  if (isLate) refresh("");
  else eachControl(({ value }, theirs) => (theirs.value = value));
}

// Sets the composer's controls.
export const lead = () => isOfOne() || eachControl((ours, { value }) => (ours.value = value));

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
document.addEventListener("change", ({ target }) => target.id === "id_show_of" && refresh());
document.addEventListener("chat:models", () => panel()?.hidden === false && refresh());
document.addEventListener("chat:chosen", countOutput);
countOutput();
