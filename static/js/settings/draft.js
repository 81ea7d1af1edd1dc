// What is set for a chat at the composer. Before the first prompt it is a part of the draft: fields of the
// composer's form, which are hidden ones until the panel with all of them is opened. Each preset's own are
// kept apart.

import { form } from "../composer/message-box.js";
import { conversation } from "../page/state.js";

export const TOOLS = "off_servers";

const holder = () => document.getElementById("settings-state");
const preset = () => document.querySelector("#composer-state [name=preset]")?.value ?? "";
export const settingField = (name) => document.querySelector(`#settings-state [name=${name}]`);
export const isTouched = () => "touched" in holder().dataset;
const fields = () =>
  [...form().elements].filter((one) => one.name && one.closest("#settings-state, #chat-settings"));

let ofOthers = {}; // the settings of presets that the page doesn't show, by their ids

export const draftFields = () =>
  Object.fromEntries(fields().filter(({ disabled }) => !disabled).map(({ name, value }) => [name, value]));

export function draftSettings() {
  if (conversation()) return undefined;
  const all = { ...ofOthers, ...(isTouched() && { [preset()]: draftFields() }) };
  return Object.keys(all).length ? all : undefined;
}

// Takes over the settings of a stored draft, and returns those of the shown preset if they are now its own.
export function takeSettings(settings = {}) {
  if (conversation()) return null;
  const { [preset()]: own, ...others } = settings;
  ofOthers = { ...others, ...ofOthers };
  if (!own || isTouched()) return null;
  write(own);
  return own;
}

// Sets the fields of a draft. A person who may not read the preset has only that of the tools.
function write(values) {
  const isReadable = settingField("web_search") !== null;
  for (const [name, value] of Object.entries(values)) {
    if (isReadable || name === TOOLS) set(name, value);
  }
  markTouched();
}

// Sets a field, adding a hidden one if it is not there.
export function set(name, value) {
  if (!fields().some((one) => one.name === name)) {
    holder().append(Object.assign(document.createElement("input"), { type: "hidden", name }));
  }
  for (const one of fields()) if (one.name === name) one.value = value;
}

// Fires `chat:chosen` on the document: what is set has changed.
export function markTouched() {
  if (!conversation()) holder().dataset.touched = "";
  document.dispatchEvent(new Event("chat:chosen"));
}

// What is switched off: the tool servers' primary keys.
export const offServers = () => (settingField(TOOLS)?.value ?? "").split(" ").filter(Boolean);

// Stores what this field says now, at once or with the first prompt.
export function storeField(name) {
  markTouched();
  if (!conversation()) return;
  const choose = document.getElementById("choose");
  choose.setAttribute("hx-include", `#composer-state [name=conversation], #settings-state [name=${name}]`);
  choose.click();
}

// The panel's fields take the place of the hidden ones, except that of the tools, which it lacks. The
// composer's controls still read theirs.
export function moveToPanel() {
  const hidden = [...holder().children].filter(({ name }) => name !== TOOLS);
  for (const one of hidden) one.disabled = true;
  if (isTouched()) write(Object.fromEntries(hidden.map(({ name, value }) => [name, value])));
}

document.addEventListener("chat:shown", () => (ofOthers = {}));
document.addEventListener("chat:named", () => {
  delete holder().dataset.touched;
  ofOthers = {};
  for (const one of [...holder().children]) one.disabled = false;
});
