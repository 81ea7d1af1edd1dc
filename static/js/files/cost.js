// Says about how many tokens the next prompt has, and of how many the model takes. If that is too much,
// or the model takes no images, offers what helps: buttons under the line that says so. The server checks
// both again.

import { announce } from "../page/announcements.js";
import { chips, nameOf, presetHasImages, refresh } from "./attachments.js";
import { roundTokens } from "../composer/context-details.js";
import { figures, model } from "../composer/context-meter.js";
import { groupDigits } from "../composer/message-box.js";
import { post } from "./requests.js";
import { setIn } from "../composer/model-list.js";
import { askForModel } from "../composer/model-picker.js";

const part = (name) => document.getElementById(`files-${name}`);

function draw() {
  const files = chips();
  part("cost").hidden = !files.length && !presetHasImages();
  if (part("cost").hidden) return void delete part("cost").dataset.refuses;
  const { prompt: total, most } = figures();
  const name = model()?.text.trim() ?? "";
  const of = most ? `of ${groupDigits(most)} tokens of ` : "tokens";
  part("tokens").textContent = `About ${roundTokens(total)} ${of}`;
  part("model").textContent = most ? name : "";
  part("excess").textContent = most && total > most ? ": too much to send." : "";
  Object.assign(part("share"), { max: most || 1, value: total, hidden: !most });
  const hasImages = presetHasImages() || files.some(({ dataset }) => "images" in dataset);
  const lacksImages = model()?.dataset.images === "no" && hasImages;
  part("images").hidden = !lacksImages;
  part("images").firstElementChild.textContent = name;
  part("of-preset").hidden = !presetHasImages();
  refuse(most && total > most ? tooMuch(total, most, name) : "");
  offer([
    ...(most && total > most ? [...fewerPages(files, most - total), anotherModel()] : []),
    ...(lacksImages ? modelsWithImages() : []),
  ]);
}

const tooMuch = (total, most, name) =>
  `This has about ${roundTokens(total)} tokens, and ${name} takes ${groupDigits(most)}. ` +
  "Send only some of the pages, remove a file, or choose another model.";

function refuse(sentence) {
  const { dataset } = part("cost");
  if (sentence && !dataset.refuses) announce(sentence);
  if (sentence) dataset.refuses = sentence;
  else delete dataset.refuses;
}

for (const type of ["chat:files", "chat:typed"]) document.addEventListener(type, draw);
document.addEventListener("change", ({ target }) => target === select() && draw());
document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "model-picker" || target.matches?.(".reply-foot")) draw();
});

// ---- choices: {text, take}

const SHARE = 0.98; // of the room that the offered pages may fill: their figures are estimates
const MAX_MODELS = 3; // offered instead

const place = () => document.getElementById("files-choices");
const select = () => document.getElementById("model");
const tokensOf = ({ dataset }) => Number(dataset.tokens);

let offeredChoices = [];

function offer(choices) {
  const shown = [...place().children].map(({ textContent }) => textContent);
  offeredChoices = choices;
  if (choices.map(({ text }) => text).join("\n") === shown.join("\n")) return; // keeps the focus
  place().replaceChildren(...choices.map(buttonOf));
}

function buttonOf({ text }) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: text });
  button.className = "text-button";
  button.dir = "auto";
  return button;
}

// The first pages of the largest document, as many as fit.
function fewerPages(files, room) {
  const paged = files.filter(({ dataset }) => dataset.pages).sort((a, b) => tokensOf(b) - tokensOf(a));
  const [largest] = paged;
  if (!largest) return [];
  const budget = (tokensOf(largest) + room) * SHARE;
  const ends = JSON.parse(largest.dataset.pages);
  const [last] = ends.filter(([, tokens]) => tokens <= budget).at(-1) ?? [];
  if (!last) return [];
  const [first] = ends[0];
  const { unit } = largest.dataset;
  const pages = last === 1 ? unit : `${last} ${unit}s`;
  const words = first === 1 ? `First ${pages}` : `Only ${unit}s ${first}–${last}`;
  const url = `/files/${largest.dataset.file}/pages/`;
  const take = async () => (await post(url, { pages: `${first}-${last}` }), refresh());
  return [{ text: `${words} of ${nameOf(largest)}`, take }];
}

const anotherModel = () => ({
  text: "Choose another model",
  take: (button) => askForModel(button, select().value, choose),
});

const choose = (value) => setIn(select(), value);

// Those that are known to take images come first.
function modelsWithImages() {
  const takers = [...select().options].filter(({ value, dataset }) => value && dataset.images !== "no");
  const sees = ({ dataset }) => dataset.images === "yes";
  takers.sort((a, b) => sees(b) - sees(a));
  return takers.slice(0, MAX_MODELS).map(({ value, text }) => ({ text: `Use ${text.trim()}`, take: () => choose(value) }));
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("#files-choices button");
  if (button) offeredChoices[[...place().children].indexOf(button)].take(button);
});

draw();
