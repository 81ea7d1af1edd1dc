// Shows images and the texts of documents in dialogs. Loaded by static/js/page/lazy.js.
//
// The images of the thread, or of the draft, are shown one at a time, with their links as the list. The
// description of an image, which its owner writes here, is its alternative text.

import { fetchDialog, focusOn } from "../page/fetched-dialogs.js";
import { tell } from "../page/toast.js";
import { OURS } from "../page/untrusted-html.js";
import { fit, isZoomed, zoomable, zoomBy } from "./zooming.js";

const FAILED = "This couldn't be loaded. Try again in a moment.";
const VIEWED = `[data-view]${OURS}`;

let isOpening = false;
let first = null; // the link that was opened
let link = null; // of the image that is shown
let images = []; // the links of all images

const viewer = () => document.getElementById("viewer");
const find = (selector) => viewer().querySelector(selector);

document.addEventListener("click", (event) => {
  const { target } = event;
  const openedLink = target.closest?.(VIEWED);
  const step = target.closest?.("#viewer [data-step]");
  const zoom = target.closest?.("#viewer [data-zoom]");
  if (step) go(Number(step.dataset.step));
  else if (zoom) press(zoom.dataset.zoom);
  else if (openedLink && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    open(openedLink);
  }
});
document.addEventListener("chat:shown", () => document.querySelector("#viewer[open], #document")?.close());

async function open(openedLink) {
  if (isOpening) return;
  isOpening = true;
  const opens = openedLink.dataset.view ? openImage : openDocument;
  await opens(openedLink).catch(() => tell(FAILED));
  isOpening = false;
}

async function openDocument(openedLink) {
  const dialog = await fetchDialog(openedLink.href, "document");
  dialog.addEventListener("close", () => {
    dialog.remove();
    focusOn(openedLink);
  });
  dialog.showModal();
}

async function openImage(openedLink) {
  if (!viewer()) prepare(await fetchDialog(document.body.dataset.viewer, "viewer"));
  const list = openedLink.closest("#messages") ?? openedLink.closest("ul");
  images = [...list.querySelectorAll(`[data-view=image]${OURS}`)];
  for (const button of viewer().querySelectorAll("[data-step]")) button.hidden = images.length < 2;
  first = openedLink;
  show(first);
  viewer().showModal();
}

function prepare(dialog) {
  zoomable(find(".stage"), (size) => { find("[data-size]").textContent = size; });
  dialog.addEventListener("keydown", onKey);
  dialog.addEventListener("close", () => {
    find(".stage").replaceChildren();
    focusOn(first);
  });
  find("form").addEventListener("submit", (event) => saveDescription(event, link));
}

function show(next) {
  link = next;
  const image = new Image();
  image.alt = link.firstElementChild.alt;
  image.draggable = false;
  image.onload = () => image.isConnected && fit(); // unless another image is shown by now
  image.src = link.href;
  find(".stage").replaceChildren(image);
  fit();
  find("[data-name]").textContent = link.title || image.alt;
  find("[data-place]").textContent = images.length > 1 ? `${images.indexOf(link) + 1} of ${images.length}` : "";
  find("[data-download]").href = link.closest("[data-file]") ? new URL("../", link.href) : link.href;
  showDescription(find("details"), link);
}

const go = (steps) => show(images.at((images.indexOf(link) + steps) % images.length));
const press = (key) => (key === "0" ? fit() : zoomBy(key === "+" ? 1.5 : 1 / 1.5));

function onKey(event) {
  const { key, target } = event;
  if (target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (["+", "-", "0"].includes(key)) press(key);
  else if (key === "=") press("+"); // the same key on most keyboards
  else if (["ArrowLeft", "ArrowRight"].includes(key) && !isZoomed()) go(key === "ArrowLeft" ? -1 : 1);
  else return;
  event.preventDefault();
}

// ---- descriptions

const NOT_SAVED = "The description could not be saved. Try again in a moment.";

const sayBelow = (details, text) => { details.nextElementSibling.textContent = text; };

// Offers the form for the image of a link, unless it is not a file of one's own.
function showDescription(details, link) {
  const { alt } = link.dataset;
  details.hidden = alt === undefined;
  details.open = false;
  details.querySelector("[name=alt]").value = alt ?? "";
  sayBelow(details, "");
}

async function saveDescription(event, link) {
  event.preventDefault();
  const form = event.target;
  const details = form.closest("details");
  const sent = { method: "POST", body: new FormData(form), redirect: "error" };
  const answer = await fetch(new URL("../describe/", link.href), sent).catch(() => null);
  if (!answer?.ok) return sayBelow(details, answer?.status === 422 ? await answer.text() : NOT_SAVED);
  link.dataset.alt = form.alt.value;
  link.firstElementChild.alt = form.alt.value || link.title;
  sayBelow(details, "Saved.");
}
