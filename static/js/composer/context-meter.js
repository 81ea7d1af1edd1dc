// The meter at the composer: how much of the model's context the next turn fills. It reads the tokens of
// the last reply, counts what is typed by this chat's own characters per token, and is quiet while little
// is filled. Fires `chat:filled` on the document when the share changes.

import { chips } from "../files/attachments.js";
import { box } from "./message-box.js";
import { isStreaming } from "../page/state.js";
import { OURS } from "../page/untrusted-html.js";

const CHARACTERS_PER_TOKEN = 4;
const SHOWN = 25; // percent
const NEAR = 80;

const meter = () => document.getElementById("context-meter");
const state = () => document.getElementById("composer-state");
const select = () => document.getElementById("model");
export const model = () => select()?.selectedOptions[0];

let readings = { used: 0, system: 0, tools: 0, presetFiles: 0, perToken: CHARACTERS_PER_TOKEN, files: 0, answer: 0, most: 0 };
let percent = null;

const last = (attribute) => Number([...document.querySelectorAll(
  `#messages [data-reply] .usage[${attribute}]${OURS}`,
)].at(-1)?.getAttribute(attribute) ?? 0);

// What the page says, apart from what is typed. While a reply is written, what was used stays as it was.
function read() {
  const { context, tools, answer } = model()?.dataset ?? {};
  const [usual, least, most] = (answer ?? "0 1 Infinity").split(" ").map(Number);
  const ofModels = JSON.parse(meter().dataset.figures);
  const [system, wanted] = ofModels[select()?.value] ?? ofModels[""];
  const perToken = last("data-per-token") || CHARACTERS_PER_TOKEN;
  const used = state()?.dataset.used ?? last("data-context");
  readings = {
    perToken,
    used: isStreaming() ? readings.used : Number(used),
    system: Math.ceil(system / perToken),
    tools: Number(tools ?? 0),
    presetFiles: Number(meter().dataset.presetFiles),
    files: chips().reduce((sum, { dataset }) => sum + Number(dataset.tokens), 0),
    answer: wanted ? Math.min(Math.max(wanted, least), most) : usual,
    most: Number(context ?? 0),
  };
  percent = null;
  draw();
}

// In tokens. `used` has the system prompt, the tools and the preset's files, once there is a reply.
export function figures() {
  const { used, system, tools, presetFiles, files, answer, most, perToken } = readings;
  const text = Math.ceil(box().textLength / perToken);
  const always = system + tools + presetFiles;
  const before = Math.max(used, always);
  const chat = before - always;
  return { chat, files, text, system, tools, presetFiles, answer, most, prompt: before + files + text };
}

// In percent; 0 if the size of the context is not known.
export function findPercent() {
  const { prompt, answer, most } = figures();
  return most ? Math.round((100 * (prompt + answer)) / most) : 0;
}

function draw() {
  const share = findPercent();
  if (share === percent) return;
  percent = share;
  const button = meter();
  button.hidden = share < SHOWN;
  button.dataset.level = share > 100 ? "over" : share >= NEAR ? "near" : "";
  button.style.setProperty("--filled", `${Math.min(share, 100)}%`);
  const shown = share > 999 ? "999+" : share;
  button.querySelector("span").textContent = `${shown}%`;
  button.setAttribute("aria-label", `Context: about ${shown} percent filled`);
  document.dispatchEvent(new Event("chat:filled"));
}

document.addEventListener("chat:typed", draw);
for (const type of ["chat:files", "chat:shown"]) document.addEventListener(type, read);
document.addEventListener("change", ({ target }) => target === select() && read());
document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.matches?.(".reply-foot") || ["model-picker", "composer-state", "messages"].includes(target.id)) read();
});
document.addEventListener("beforetoggle", async ({ target, newState }) => {
  if (target.id !== "context-details" || newState !== "open") return;
  const { fillDetails } = await import("./context-details.js");
  fillDetails(target, meter(), model()?.text.trim() ?? "", figures());
}, true);
read();
