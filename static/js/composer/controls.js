// The tools, the web search and the reasoning effort of the chat, below the message box, where the chosen
// model has them. A choice holds from the next message on: a new chat sends it with that, another at once.

import { model } from "./context-meter.js";
import { offServers, settingField, storeField } from "../settings/draft.js";

const FIXED = "Your administrator has fixed this for the model";
const OWN = "The model has its own in the chat settings";

const byId = (id) => document.getElementById(id);

// What the chosen model has of its own.
const own = () => JSON.parse(byId("settings-state").dataset.own ?? "{}")[model()?.value] ?? {};
const fixedBy = (fixes, name) => (fixes !== undefined ? FIXED : name in own() ? OWN : "");
const valueOf = (name) => own()[name] ?? settingField(name).value;

// What the settings of a model that lacks them say is kept.
function draw() {
  const { efforts = "", searches, fixesEffort, fixesSearch } = model()?.dataset ?? {};
  const isReadable = settingField("web_search") !== null;
  const [hasSearch, hasEffort] = [isReadable && searches !== undefined, isReadable && efforts !== ""];
  if (byId("tools")) drawTools(offServers().length);
  byId("controls").hidden = !(byId("tools") || hasSearch || hasEffort);
  show(byId("web-search"), byId("web-search"), hasSearch, fixedBy(fixesSearch, "web_search"));
  show(byId("effort").parentElement, byId("effort"), hasEffort, fixedBy(fixesEffort, "reasoning_effort"));
  if (!isReadable) return;
  const isOn = fixesSearch !== undefined || (valueOf("web_search") || searches) === "on";
  byId("web-search").setAttribute("aria-pressed", isOn);
  fillEfforts(efforts.split(" "), fixesEffort !== undefined);
}

function drawTools(off) {
  byId("tools").querySelector("span").textContent = off ? `Tools (${off} off)` : "Tools";
}

function show(control, field, isThere, fixed) {
  control.hidden = !isThere;
  control.title = fixed;
  field.disabled = fixed !== "";
}

function fillEfforts(efforts, isFixed) {
  const chosen = isFixed ? efforts[0] : valueOf("reasoning_effort");
  const shown = isFixed ? efforts : ["", ...efforts, chosen];
  const options = [...byId("efforts").content.children].filter(({ value }) => shown.includes(value));
  byId("effort").replaceChildren(...options.map((option) => option.cloneNode(true)));
  byId("effort").value = chosen;
}

function choose(name, value) {
  settingField(name).value = value;
  settingField(name).dispatchEvent(new Event("input", { bubbles: true })); // for the panel
  storeField(name);
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("#web-search");
  if (!button) return;
  const nextValue = button.getAttribute("aria-pressed") === "true" ? "off" : "on";
  choose("web_search", nextValue === (model().dataset.searches || "off") ? "" : nextValue);
});
document.addEventListener("change", ({ target }) => {
  if (target.id === "effort") choose("reasoning_effort", target.value);
  if (target.id === "model") draw();
});
document.addEventListener("beforetoggle", async ({ target, newState }) => {
  if (target.id !== "tool-switches" || newState !== "open") return;
  const { fillSwitches } = await import("./tool-switches.js");
  fillSwitches(target, byId("tools"));
}, true);
document.addEventListener("htmx:after:settle", ({ target }) => {
  if (["model-picker", "settings-state"].includes(target.id)) draw();
});
document.addEventListener("chat:shown", draw);
document.addEventListener("chat:chosen", draw);
