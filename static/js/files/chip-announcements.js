// Tells screen readers when files were attached, are ready or have failed, but not how far they are.

import { announce } from "../page/announcements.js";
import { chips, nameOf } from "./attachments.js";

const SAID = { added: "attached", ready: "ready to be sent", failed: "failed" };

const place = () => document.getElementById("draft-files"); // another element in another chat
const states = () => new Map(chips().map(({ dataset }) => [dataset.file, dataset.state]));

let lastStates = states(); // by id
let lastPlace = place();

function compare() {
  if (place() === lastPlace) tell();
  lastStates = states();
  lastPlace = place();
}

function tell() {
  const sentences = Object.entries(SAID).map(([news, words]) => {
    const those = chips().filter((chip) => newsOf(chip) === news);
    if (those.length > 3) return `${those.length} files ${words}.`;
    return those.map((chip) => `${nameOf(chip)} ${words}. ${problemOf(chip)}`.trim()).join(" ");
  });
  const text = sentences.filter(Boolean).join(" ");
  if (text) announce(text);
}

function newsOf({ dataset: { file, state } }) {
  if (!lastStates.has(file)) return "added";
  return lastStates.get(file) === state ? "" : state;
}

const problemOf = (chip) =>
  chip.dataset.state === "failed" ? chip.querySelector(".chip-problem").textContent : "";

document.addEventListener("chat:files", compare);
compare();
