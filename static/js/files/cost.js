// Says about how many tokens the next prompt has, and of how many the model takes. If that is too much,
// or the model takes no images, offers what helps. The server checks both again.

import { announce } from "../page/announcements.js";
import { chips, presetHasImages } from "./attachments.js";
import { about } from "../composer/context-details.js";
import { figures, model } from "../composer/context-meter.js";
import { anotherModel, fewerPages, modelsWithImages, offer, select } from "./choices.js";
import { groupDigits } from "../composer/message-box.js";

const part = (name) => document.getElementById(`files-${name}`);

function draw() {
  const files = chips();
  part("cost").hidden = !files.length && !presetHasImages();
  if (part("cost").hidden) return void delete part("cost").dataset.refuses;
  const { prompt: total, most } = figures();
  const name = model()?.text.trim() ?? "";
  const of = most ? `of ${groupDigits(most)} tokens of ` : "tokens";
  part("tokens").textContent = `About ${about(total)} ${of}`;
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
  `This has about ${about(total)} tokens, and ${name} takes ${groupDigits(most)}. ` +
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
draw();
