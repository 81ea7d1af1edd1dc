// Copies a reply, a block of code, the address of a message, or a text that a button holds. A reply is copied as the Markdown
// that the server has of it, and as the HTML that is shown, for whatever takes either.

import { announce } from "./announcements.js";
import { addressOf } from "./icons.js";
import { say } from "./page.js";

const FAILED = "That could not be copied. Select the text and copy it by hand.";
const NOT_FETCHED = "The server did not give the reply's text, so nothing is copied. Try again in a moment.";

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-copy], [data-copy-code], [data-copy-link], [data-copy-text]");
  if (button) copy(button);
});

// The kinds of content are promises: a browser that asks for its person's click waits for no fetch.
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
      blob.catch(() => {}); // not every browser looks at all of them
      return [type, blob];
    });
    await navigator.clipboard.write([new ClipboardItem(Object.fromEntries(blobs))]);
  } catch {
    await writeByHand(kinds); // the clipboard is closed to pages that are not served over TLS
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
  area.select(); // or there is nothing to copy
  document.addEventListener("copy", put);
  const isDone = document.execCommand("copy");
  document.removeEventListener("copy", put);
  area.remove();
  focused?.focus({ preventScroll: true });
  if (!isDone) throw new Error(FAILED);
}

function showDone(button) {
  const icon = button.querySelector("use");
  icon.setAttribute("href", addressOf("check"));
  announce("Copied");
  const before = addressOf(button.dataset.copyLink ? "link" : "copy");
  setTimeout(() => icon.setAttribute("href", before), 1500);
}
