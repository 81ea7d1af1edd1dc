// Copies a reply, a code block, a link to a message, a button's text, or a whole chat or message as
// Markdown. A reply is copied both as Markdown, from the server, and as the HTML that is shown; the
// target application chooses.

import { announce } from "../page/announcements.js";
import { addressOf } from "../page/icons.js";
import { say } from "../page/state.js";
import { tell } from "../page/toast.js";

const FAILED = "Couldn't copy. Select the text and copy it manually.";
const FOR_YOURSELF = "Link copied. Only you can open it. To show it to others, share the chat.";
const NOT_FETCHED = "The reply's text couldn't be loaded, so nothing was copied. Try again in a moment.";

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-copy], [data-copy-code], [data-copy-link], [data-copy-text]");
  if (button) copy(button);
});

// The contents are promises: browsers require a user gesture and would not wait for a fetch.
async function copy(button) {
  const kinds = button.dataset.copy ? kindsOfReply(button) : { "text/plain": textOf(button) };
  let problem = "";
  try {
    await write(kinds);
  } catch {
    problem = await Promise.all(Object.values(kinds)).then(() => FAILED, () => NOT_FETCHED);
  }
  if (problem) say(problem);
  else showDone(button);
}

function textOf({ dataset, parentElement }) {
  if (dataset.copyLink) return new URL(dataset.copyLink, location.origin).href;
  return dataset.copyText ?? parentElement.querySelector("code").textContent;
}

function kindsOfReply(button) {
  return {
    "text/plain": fetchText(button.dataset.copy),
    "text/html": htmlOf(button.closest("[data-reply]")),
  };
}

async function fetchText(address) {
  const response = await fetch(address, { redirect: "error" });
  if (!response.ok) throw new Error(response.status);
  return response.text();
}

function htmlOf(reply) {
  const regions = reply.querySelectorAll(':is([data-region="answer"], [data-region="refusal"])');
  return [...regions].map((region) => {
    const copied = region.cloneNode(true);
    copied.querySelectorAll("button").forEach((button) => button.remove());
    return copied.innerHTML;
  }).join("");
}

async function write(kinds) {
  try {
    const blobs = Object.entries(kinds).map(([type, content]) => {
      const blob = Promise.resolve(content).then((text) => new Blob([text], { type }));
      blob.catch(() => {}); // some browsers don't await all of them
      return [type, blob];
    });
    await navigator.clipboard.write([new ClipboardItem(Object.fromEntries(blobs))]);
  } catch {
    await writeByHand(kinds); // no clipboard API without TLS
  }
}

async function writeByHand(kinds) {
  const contents = await Promise.all(
    Object.entries(kinds).map(async ([type, content]) => [type, await content]),
  );
  const put = (event) => {
    for (const [type, text] of contents) event.clipboardData.setData(type, text);
    event.preventDefault();
  };
  const area = Object.assign(document.createElement("textarea"), { value: "-" });
  area.className = "visually-hidden";
  const focused = document.activeElement;
  document.body.append(area);
  area.select(); // copying needs a selection
  document.addEventListener("copy", put);
  const isDone = document.execCommand("copy");
  document.removeEventListener("copy", put);
  area.remove();
  focused?.focus({ preventScroll: true });
  if (!isDone) throw new Error(FAILED);
}

function showDone(button) {
  const icon = button.querySelector("use");
  const isLink = "copyLink" in button.dataset;
  icon.setAttribute("href", addressOf("check"));
  if (isLink) tell(FOR_YOURSELF);
  else announce("Copied");
  const before = addressOf(isLink ? "bookmark" : "copy");
  setTimeout(() => icon.setAttribute("href", before), 1500);
}

// ---- Markdown

const NOT_COPIED = "The text couldn't be copied. Try again in a moment, or export it.";

// The text is a promise: Safari wants to be asked at once and would not wait for a fetch.
export async function copyMarkdown(address) {
  const copied = write({ "text/plain": fetchText(address) });
  tell(await copied.then(() => "Copied as Markdown.", () => NOT_COPIED));
}
