// Opens the model list over the model select, on a click, a touch, Enter, an arrow key or a letter. The
// list's script is loaded when the pointer or the focus comes near; if that fails, the browser's own
// list opens.

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

async function toggle(text = "") {
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
    toggle();
  });
}

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (target !== select() || event.ctrlKey || event.metaKey) return;
  if (key.length > 1 && !OPENERS.includes(key)) return;
  event.preventDefault();
  if (key.length === 1) toggle(key);
  else toggle(key === "Enter" && typedText ? CHOSEN : "");
});
