// What the list over the message box can show: the prompts, as the server last told them, and the
// app's commands whose controls are on the page.

import { conversation } from "../page/state.js";
import { OURS } from "../page/untrusted-html.js";

const FRESH = 30_000; // ms

let loadedAt = -Infinity;
let loading = null;
let entries = [];
let tag = ""; // of what is known
let element = null; // kept while the page shows another chat, whose composer has replaced its parent

export const list = () => element;
export const prompts = () => entries;

// The sidebar's controls work while it is folded; those of the chat only where they are.
function isThere({ presses, does }) {
  if (does) return conversation() && !document.querySelector("#title[data-temporary]");
  const control = document.querySelector(presses);
  return presses.startsWith(".") ? control?.checkVisibility({ visibilityProperty: true }) : control;
}

const entry = (id, title, command, owner, preview) => {
  const words = `${title} ${command}`.toLowerCase().split(/[\s/_-]+/);
  return { id, title, command, owner, preview, terms: words };
};

export const commands = () =>
  [...(element?.querySelectorAll("data") ?? [])]
    .filter(({ dataset }) => isThere(dataset))
    .map(({ dataset, textContent }) => ({ ...entry("", textContent, dataset.name, "", ""), ...dataset }));

// Asks for the prompts unless they are fresh, and calls `then` once they have come.
export async function load(then) {
  if (loading || performance.now() - loadedAt < FRESH) return;
  loading = Promise.allSettled([shell(), index()]); // the list shows what it has
  await loading;
  loading = null;
  loadedAt = performance.now();
  then();
}

export const forget = () => { loadedAt = -Infinity; };

// Resolves once something can be shown; null if it can already.
export const untilLoaded = () => (loadedAt === -Infinity ? loading : null);

async function index() {
  const headers = tag ? { "If-None-Match": tag } : {};
  const answer = await fetch("/prompts/index/", { headers, redirect: "error" });
  if (!answer.ok) return; // most often it says that nothing has changed
  entries = (await answer.json()).map((one) => entry(...one));
  tag = answer.headers.get("ETag");
}

async function shell() {
  if (element) return;
  await htmx.ajax("GET", "/prompts/commands/", { target: "body", swap: "beforeend" });
  const drawn = document.querySelector(`#slash${OURS}`);
  const styles = drawn.querySelector("link");
  document.head.append(styles);
  await new Promise((done) => { styles.onload = styles.onerror = done; });
  element = drawn;
}
