// Lists and tables with `data-ordered`: their items are put in order by dragging, or with buttons that
// have `data-move`. A form sends its fields in the order of the page.

let dragged = null;
const itemOf = (element) => element.closest?.("[data-ordered] > *");

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-ordered] [data-move]");
  if (!button) return;
  const item = itemOf(button);
  const isUp = button.dataset.move === "up";
  if (isUp) item.previousElementSibling?.before(item);
  else item.nextElementSibling?.after(item);
  button.focus();
});

document.addEventListener("dragstart", ({ target, dataTransfer }) => {
  if (itemOf(target) !== target) return;
  dragged = target;
  dataTransfer.effectAllowed = "move";
});

document.addEventListener("dragend", () => {
  dragged = null;
});

document.addEventListener("dragover", (event) => {
  const item = itemOf(event.target);
  if (!dragged || item?.parentElement !== dragged.parentElement) return;
  event.preventDefault();
  const { top, height } = item.getBoundingClientRect();
  if (item === dragged) return;
  if (event.clientY < top + height / 2) item.before(dragged);
  else item.after(dragged);
});

document.addEventListener("drop", (event) => {
  if (dragged) event.preventDefault();
});
