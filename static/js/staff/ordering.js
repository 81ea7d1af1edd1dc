// Lists and tables with `data-ordered`: their items are put in order by dragging, or with buttons that
// have `data-move`. A form sends its fields in the order of the page.

let draggedItem = null;
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
  draggedItem = target;
  dataTransfer.effectAllowed = "move";
});

document.addEventListener("dragend", () => {
  draggedItem = null;
});

document.addEventListener("dragover", (event) => {
  const item = itemOf(event.target);
  if (!draggedItem || item?.parentElement !== draggedItem.parentElement) return;
  event.preventDefault();
  const { top, height } = item.getBoundingClientRect();
  if (item === draggedItem) return;
  if (event.clientY < top + height / 2) item.before(draggedItem);
  else item.after(draggedItem);
});

document.addEventListener("drop", (event) => {
  if (draggedItem) event.preventDefault();
});
