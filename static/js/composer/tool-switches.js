// The switches of the tool servers, above the message box. The server lists them each time they are opened.

import { offServers, set, storeField, TOOLS } from "../settings/draft.js";
import { conversation } from "../page/state.js";
import { tell } from "../page/toast.js";

const GAP = 8; // px above the button
const FAILED = "The tools couldn't be loaded. Try again in a moment.";

const inputsIn = (switches) => [...switches.querySelectorAll("input")];

function address({ dataset }) {
  const query = new URLSearchParams({ conversation: conversation() });
  const preset = document.querySelector("#composer-state [name=preset]")?.value;
  if (preset) query.set("preset", preset);
  return `${dataset.address}?${query}`;
}

export async function fillSwitches(switches, opener) {
  const { left, top } = opener.getBoundingClientRect();
  switches.style.inset = `auto auto ${document.documentElement.clientHeight - top + GAP}px ${left}px`;
  switches.replaceChildren();
  await htmx.ajax("GET", address(switches), { target: "#tool-switches", swap: "innerHTML" }).catch(() => {});
  for (const input of inputsIn(switches)) input.checked = !offServers().includes(input.value);
  if (switches.childElementCount) return;
  switches.hidePopover();
  tell(FAILED);
}

document.addEventListener("change", ({ target }) => {
  const switches = target.closest?.("#tool-switches");
  if (!switches) return;
  const inputs = inputsIn(switches);
  const others = offServers().filter((server) => !inputs.some(({ value }) => value === server));
  const off = inputs.filter(({ checked }) => !checked).map(({ value }) => value);
  set(TOOLS, [...others, ...off].join(" "));
  storeField(TOOLS);
});
