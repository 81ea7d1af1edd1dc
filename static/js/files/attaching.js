// Takes files from the button, from a drop anywhere on the page and from the clipboard, and long
// pasted texts, which become files: browsers take so long to lay them out in the message box that the
// page would freeze. What else people do with files is loaded once there are any.

import { chips, presetHasImages } from "./attachments.js";
import { box, fill, joinParagraphs } from "../composer/message-box.js";
import { say } from "../page/state.js";
import { arrive } from "./waiting.js";

const LONG = 5000; // code units
const FAILED = "The files couldn't be attached. Try again in a moment.";

const input = () => document.getElementById("files-input");
const loadAttachedFiles = () => import("./attached-files.js");

// Returns whether all of them were attached.
async function attach(files) {
  const arriving = arrive(files.length);
  try {
    const { uploadFiles } = await loadAttachedFiles();
    return await uploadFiles(files, arriving);
  } catch {
    say(FAILED);
    return false;
  } finally {
    arriving.end();
  }
}

async function attachText(text) {
  const isAttached = await attach([new File([text], "Pasted text.txt", { type: "text/plain" })]);
  if (!isAttached) fill(joinParagraphs(box().value, text)); // so that it is not lost
}

document.addEventListener("click", ({ target }) => {
  if (target.closest?.(".attach")) input().click();
});

document.addEventListener("change", ({ target }) => {
  if (target !== input()) return;
  const files = [...target.files];
  target.value = ""; // so that the same file can be chosen again
  if (files.length) attach(files);
  box().focus();
});

document.addEventListener("paste", (event) => {
  const { clipboardData: data, target } = event;
  if (target !== box() && target.matches?.("input, textarea, [contenteditable], :modal *")) return;
  const text = data.getData("text/plain");
  // Office programs add a picture of the text that was copied.
  const files = [...data.files].filter(({ name }) => !text || name !== "image.png");
  if (!files.length && (target !== box() || text.length <= LONG)) return;
  event.preventDefault();
  if (files.length) attach(files);
  else attachText(text.replace(/\r\n?/g, "\n"));
});

document.addEventListener("chat:files", () => {
  if (chips().length || presetHasImages()) loadAttachedFiles().catch(() => {});
});

// ---- dragging files over the page

let isOwn = false; // what is dragged is from this page, such as a conversation or an image
let depth = 0; // elements that were entered and not left

const hasFiles = ({ dataTransfer }) => !isOwn && dataTransfer?.types.includes("Files");

function mark(isOver) {
  if (!isOver) depth = 0;
  document.documentElement.toggleAttribute("data-dropping", isOver);
}

document.addEventListener("dragstart", () => (isOwn = true));
document.addEventListener("dragend", () => (isOwn = false));
document.addEventListener("dragenter", (event) => {
  if (hasFiles(event)) mark((depth += 1));
});
document.addEventListener("dragleave", (event) => {
  if (hasFiles(event)) mark((depth -= 1) > 0);
});
document.addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = document.querySelector(":modal") ? "none" : "copy";
});
document.addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault(); // or the browser would leave the page and open the file
  mark(false);
  const isFolder = (item) => item.webkitGetAsEntry?.()?.isDirectory;
  const items = [...event.dataTransfer.items].filter(({ kind }) => kind === "file");
  if (items.some(isFolder)) say("Folders can't be attached. Drop the files in them instead.");
  const files = items.filter((item) => !isFolder(item)).map((item) => item.getAsFile());
  if (files.length) attach(files);
});
