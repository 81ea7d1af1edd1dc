// A line that says what was done, with Undo. It disappears by itself unless hovered or focused.

const SHOWN = 12000; // ms

let undo = null;
let going = 0;

const toast = () => document.getElementById("toast");
const isAtIt = () => toast().matches(":hover, :focus-within");

export function tell(text, undoIt = null) {
  undo = undoIt;
  toast().querySelector("p").textContent = text;
  toast().querySelector("[data-undo]").hidden = !undo;
  toast().dataset.shown = "";
  clearInterval(going);
  going = setInterval(() => isAtIt() || dismiss(), SHOWN);
}

// Focuses Undo if the focused element has disappeared.
export function focusUndo() {
  if (undo && document.activeElement === document.body) toast().querySelector("[data-undo]").focus();
}

function dismiss() {
  clearInterval(going);
  undo = null;
  delete toast().dataset.shown;
  toast().querySelector("p").textContent = "";
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("#toast button");
  if (!button) return;
  const undoIt = undo;
  dismiss();
  if (button.matches("[data-undo]")) undoIt?.();
});
