// Lists that scroll endlessly in both directions: when an edge comes near, the server sends the next
// page, and rows beyond a maximum are dropped at the other end, where a new edge loads them again. The
// rows in view keep their position.

const MAX_COUNT = 300; // rows; if there are more, KEPT remain
const KEPT = 240;

let spentEdge = null; // the edge that is being replaced by its page
let anchorRow = null; // a visible row and its position

const isInfinite = (list) => list?.matches?.(".infinite");
const rowsOf = (list) => [...list.querySelectorAll(".conversation")];
const top = (element) => element.getBoundingClientRect().top;

document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => {
  if (!isInfinite(ctx.target) || !ctx.sourceElement?.matches(".edge")) return;
  spentEdge = ctx.sourceElement;
  hold(ctx.target);
  spentEdge.remove();
});

document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
  if (!isInfinite(ctx.target) || !spentEdge) return;
  tidy(ctx.target);
  if (spentEdge.matches(".older")) dropAbove(ctx.target);
  else dropBelow(ctx.target);
  letGo(ctx.target);
  spentEdge = null;
});

function hold(list) {
  const scroller = list.closest(".scrolls");
  const row = rowsOf(list).find((one) => one.getBoundingClientRect().bottom > top(scroller));
  anchorRow = row && { row, at: top(row) };
  scroller.style.overflowAnchor = "none"; // or the browser would adjust it, too
}

function letGo(list) {
  const scroller = list.closest(".scrolls");
  if (anchorRow?.row.isConnected) scroller.scrollTop += top(anchorRow.row) - anchorRow.at;
  requestAnimationFrame(() => { scroller.style.overflowAnchor = ""; });
}

// Removes duplicates: rows that moved between the requests, and a heading where two pages meet.
function tidy(list) {
  const ids = new Set();
  let day = "";
  for (const item of [...list.children]) {
    if (item.matches(".conversation")) {
      if (ids.has(item.id)) item.remove();
      ids.add(item.id);
    } else if (item.matches(".day")) {
      if (item.textContent === day) item.remove();
      day = item.textContent;
    }
  }
}

function dropAbove(list) {
  const rows = rowsOf(list);
  if (rows.length <= MAX_COUNT) return;
  const first = rows.at(-KEPT);
  tell("above", list, rows.slice(0, -KEPT));
  let day = null; // the heading of the first kept row
  while (list.firstElementChild !== first) {
    if (list.firstElementChild.matches(".day")) day = list.firstElementChild;
    list.firstElementChild.remove();
  }
  day?.removeAttribute("id"); // it is no longer the place for new rows
  list.prepend(edge("newer", "after", "afterbegin", first), ...(day ? [day] : []));
  htmx.process(list.firstElementChild);
}

function dropBelow(list) {
  const rows = rowsOf(list);
  if (rows.length <= MAX_COUNT) return;
  tell("below", list, rows.slice(KEPT));
  const last = rows[KEPT - 1];
  while (list.lastElementChild !== last) list.lastElementChild.remove();
  list.append(edge("older", "before", "beforeend", last));
  htmx.process(list.lastElementChild);
}

function tell(side, list, rows) {
  document.dispatchEvent(new CustomEvent("chat:dropped", { detail: { side, list, rows } }));
}

function edge(name, side, swap, { dataset: { used, id } }) {
  const { before, after, id: _, ...others } = JSON.parse(spentEdge.getAttribute("hx-vals"));
  const made = document.createElement("li");
  for (const attribute of ["hx-get", "hx-trigger", "hx-target"]) {
    made.setAttribute(attribute, spentEdge.getAttribute(attribute));
  }
  made.setAttribute("hx-vals", JSON.stringify({ ...others, [side]: used, id }));
  made.setAttribute("hx-swap", swap);
  made.className = `edge ${name}`;
  made.textContent = spentEdge.textContent;
  return made;
}
