// What helps if the files are too much for the model, or if it takes no images: buttons under the line
// that says so. A choice is {text, take}.

import { nameOf, refresh } from "./attachments.js";
import { post } from "./requests.js";
import { setIn } from "../composer/model-list.js";
import { askForModel } from "../composer/model-opener.js";

const SHARE = 0.98; // of the room that the offered pages may fill: their figures are estimates
const MAX_MODELS = 3; // offered instead

const place = () => document.getElementById("files-choices");
export const select = () => document.getElementById("model");
export const tokensOf = ({ dataset }) => Number(dataset.tokens);

let offeredChoices = [];

export function offer(choices) {
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
export function fewerPages(files, room) {
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

export const anotherModel = () => ({
  text: "Choose another model",
  take: (button) => askForModel(button, select().value, choose),
});

const choose = (value) => setIn(select(), value);

// Those that are known to take images come first.
export function modelsWithImages() {
  const takers = [...select().options].filter(({ value, dataset }) => value && dataset.images !== "no");
  const sees = ({ dataset }) => dataset.images === "yes";
  takers.sort((a, b) => sees(b) - sees(a));
  return takers.slice(0, MAX_MODELS).map(({ value, text }) => ({ text: `Use ${text.trim()}`, take: () => choose(value) }));
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("#files-choices button");
  if (button) offeredChoices[[...place().children].indexOf(button)].take(button);
});
