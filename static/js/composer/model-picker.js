// The select with the models. A model picked by the person stays selected when the picker is redrawn, as
// does that of the reply they continue with after a comparison; a new chat starts with the model that its
// address names, or the one picked last in this browser, unless its project has its own.
//
// A searchable list of models opens over it on a click, a touch, Enter, an arrow key or a letter. The
// list's script is loaded when the pointer or the focus comes near; if that fails, the browser's own list
// opens.

import { keep, readKept } from "../account/storage.js";
import { OURS } from "../page/untrusted-html.js";
import { conversation } from "../page/state.js";

let pickedModel = ""; // by the person, in the shown conversation

document.addEventListener("change", ({ target }) => {
  if (target.id !== "model") return;
  pickedModel = target.value;
  keep("model", pickedModel);
});

document.addEventListener("click", ({ target }) => {
  const chosen = target.closest?.(`.beside-choose${OURS}`);
  if (!chosen) return;
  pickedModel = chosen.dataset.model;
  selectPicked();
});

document.addEventListener("chat:shown", () => {
  pickedModel = "";
  selectPicked();
});

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "model-picker") selectPicked();
});

function selectPicked() {
  const isPreselected = document.querySelector("#model-picker[data-preselected]");
  const named = new URLSearchParams(location.search).get("model");
  const chosenModel = pickedModel || (!conversation() && (named || (!isPreselected && readKept("model"))));
  const picker = document.getElementById("model");
  if ([...picker.options].some(({ value }) => value === chosenModel)) picker.value = chosenModel;
}

// ---- the list over it

const OPENERS = ["Enter", "ArrowDown", "ArrowUp", "F4"];
const CHOSEN = "\n"; // marks Enter after the typed text

const select = () => document.getElementById("model");
const loadSheet = () => import("./model-sheet.js");

// Opens it next to `anchor`; calls `take` with the chosen model instead of setting the select. `isFit`
// tells by an option's dataset whether to show it.
export async function askForModel(anchor, chosen, take, isFit) {
  (await loadSheet()).open("", { anchor, chosen: () => [chosen], take, isFit });
}

let typedText = null; // while the script is loading

async function toggleSheet(text = "") {
  const isAwaited = typedText !== null;
  typedText = `${typedText ?? ""}${text}`;
  if (isAwaited) return;
  try {
    const sheet = await loadSheet();
    const [query, chosen] = typedText.trimStart().split(CHOSEN);
    if (sheet.isOpen()) sheet.close();
    else if (chosen !== undefined) sheet.chooseFirst(query);
    else if (document.activeElement === select()) sheet.open(query); // the person may have moved on
  } catch {
    select().showPicker?.();
  } finally {
    typedText = null;
  }
}

for (const type of ["pointerover", "focusin"]) {
  document.addEventListener(type, ({ target }) => {
    if (target === select()) loadSheet().catch(() => {});
  });
}

// Keeps the browser's own list closed.
for (const type of ["mousedown", "touchend"]) {
  document.addEventListener(type, (event) => {
    if (event.target !== select() || event.button) return;
    event.preventDefault();
    const isOpen = document.querySelector("#model-sheet:popover-open");
    if (!isOpen) select().focus({ preventScroll: true }); // it receives what is typed next
    toggleSheet();
  });
}

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (target !== select() || event.ctrlKey || event.metaKey) return;
  if (key.length > 1 && !OPENERS.includes(key)) return;
  event.preventDefault();
  if (key.length === 1) toggleSheet(key);
  else toggleSheet(key === "Enter" && typedText ? CHOSEN : "");
});
