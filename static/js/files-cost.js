// Says about how many tokens the next prompt has, and of how many the model takes. If that is too much,
// or the model takes no images, offers what helps. The server checks both again.

import { announce } from "./announcements.js";
import { chips, refresh } from "./attachments.js";
import { anotherModel, fewerPages, modelsWithImages, offer, select, tokensOf } from "./files-choices.js";
import { box, grouped } from "./message-box.js";

const BYTES_PER_TOKEN = 4;

const part = (name) => document.getElementById(`files-${name}`);
const model = () => select().selectedOptions[0];

// Two significant digits.
function about(count) {
  const step = 10 ** Math.max(`${Math.round(count)}`.length - 2, 0);
  return grouped(Math.round(count / step) * step);
}

function draw() {
  const files = chips();
  part("cost").hidden = !files.length;
  if (!files.length) return void delete part("cost").dataset.refuses;
  const used = Number(document.getElementById("attached").dataset.used);
  const typed = new TextEncoder().encode(box().value).length / BYTES_PER_TOKEN;
  const total = files.reduce((sum, chip) => sum + tokensOf(chip), used + typed);
  const most = Number(model()?.dataset.context ?? 0);
  const name = model()?.text.trim() ?? "";
  const of = most ? `of ${grouped(most)} tokens of ` : "tokens";
  part("tokens").textContent = `About ${about(total)} ${of}`;
  part("model").textContent = most ? name : "";
  part("excess").textContent = most && total > most ? ": too much to send." : "";
  Object.assign(part("share"), { max: most || 1, value: total, hidden: !most });
  const lacksImages = model()?.dataset.images === "no" && files.some(({ dataset }) => "images" in dataset);
  part("images").hidden = !lacksImages;
  part("images").firstElementChild.textContent = name;
  refuse(most && total > most ? tooMuch(total, most, name) : "");
  offer([
    ...(most && total > most ? [...fewerPages(files, most - total), anotherModel()] : []),
    ...(lacksImages ? modelsWithImages() : []),
  ]);
}

const tooMuch = (total, most, name) =>
  `This has about ${about(total)} tokens, and ${name} takes ${grouped(most)}. ` +
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
  if (target.id === "model-picker") draw();
  if (target.matches?.("[data-reply]:not([data-ending=streaming])") && chips().length) refresh();
});
draw();
