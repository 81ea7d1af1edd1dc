// Other models that also answer the next prompt, each in its own column. They are checked in the model
// sheet, listed above the message box, and sent with the prompt, one per line. Continuing with one of
// the replies removes them. Fires `chat:models` on the document when they change.

import { OURS } from "../page/untrusted-html.js";
import { focusBox } from "./message-box.js";
import { setIn } from "./model-list.js";

const MAX_COUNT = 3; // besides the selected model

const place = () => document.getElementById("others");
const field = () => place().querySelector("input");
const sheet = () => document.getElementById("model-sheet");
const select = () => document.getElementById("model");
const others = () => field().value.split("\n").filter(Boolean);
export const answeringModels = () => [select().value, ...others()];

function show(models) {
  const before = `${others()}`;
  field().value = models.join("\n");
  place().querySelector("ul").replaceChildren(...models.map(chipOf));
  place().hidden = !models.length;
  document.getElementById("model-count").textContent = models.length ? `+ ${models.length} more` : "";
  sheet().toggleAttribute("data-full", models.length >= MAX_COUNT);
  if (`${models}` !== before) document.dispatchEvent(new Event("chat:models"));
}

function chipOf(value) {
  const chip = document.getElementById("other-model").content.firstElementChild.cloneNode(true);
  const name = [...select().options].find((option) => option.value === value)?.text ?? value;
  chip.querySelector("span").textContent = name;
  Object.assign(chip.querySelector("button"), { value, ariaLabel: `Remove ${name}` });
  return chip;
}

// Checks a model, or unchecks it; one answers at least. The first of those left is the selected one.
export function toggleModel(value) {
  if (!answeringModels().includes(value)) return others().length < MAX_COUNT && show([...others(), value]);
  const [first, ...rest] = answeringModels().filter((one) => one !== value);
  if (!first) return;
  if (first !== select().value) setIn(select(), first);
  show(rest);
}

// Keeps the focus in the sheet, which would otherwise close before the click.
document.addEventListener("mousedown", (event) => {
  if (event.target.closest?.(".model-several, .model-done")) event.preventDefault();
});

document.addEventListener("click", ({ target }) => {
  const taken = target.closest?.(`#others li > button${OURS}`);
  if (taken) {
    show(others().filter((value) => value !== taken.value));
    focusBox();
  }
  if (target.closest?.(`.beside-choose${OURS}`)) show([]);
  if (target.closest?.(".model-done")) focusBox();
});

// A model that is now the selected one must not answer twice.
document.addEventListener("change", ({ target }) => {
  if (target === select()) show(others().filter((value) => value !== target.value));
});

// The picker was drawn again.
document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "model-picker") show(others());
});

document.addEventListener("chat:shown", () => show([]));
