// Opens the list of models over the select that they are chosen for, by a click, a touch, Enter, an arrow
// or a letter on that. Its script comes with the pointer or the focus; where it can't be had, the
// browser's own list serves.

const OPENERS = ["Enter", "ArrowDown", "ArrowUp", "F4"];
const CHOSEN = "\n"; // Enter, after what was typed

const select = () => document.getElementById("model");
const fetched = () => import("./model-sheet.js");

// Beside a button, for whoever `take`s the model instead of the select.
export async function askForModel(anchor, chosen, take) {
  (await fetched()).openFor(anchor, chosen, take);
}

let typed = null; // for the list that is on its way

async function toggle(text = "") {
  const isAwaited = typed !== null;
  typed = `${typed ?? ""}${text}`;
  if (isAwaited) return;
  try {
    const sheet = await fetched();
    const [query, chosen] = typed.trimStart().split(CHOSEN);
    if (sheet.isOpen()) sheet.close();
    else if (chosen !== undefined) sheet.chooseFirst(query);
    else if (document.activeElement === select()) sheet.open(query); // nobody who went on is called back
  } catch {
    select().showPicker?.();
  } finally {
    typed = null;
  }
}

for (const type of ["pointerover", "focusin"]) {
  document.addEventListener(type, ({ target }) => {
    if (target === select()) fetched().catch(() => {});
  });
}

// Not the browser's own list.
for (const type of ["mousedown", "touchend"]) {
  document.addEventListener(type, (event) => {
    if (event.target !== select() || event.button) return;
    event.preventDefault();
    const isOpen = document.querySelector("#model-sheet:popover-open");
    if (!isOpen) select().focus({ preventScroll: true }); // what is typed next is meant for it
    toggle();
  });
}

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (target !== select() || event.ctrlKey || event.metaKey) return;
  if (key.length > 1 && !OPENERS.includes(key)) return;
  event.preventDefault();
  if (key.length === 1) toggle(key);
  else toggle(key === "Enter" && typed ? CHOSEN : "");
});
