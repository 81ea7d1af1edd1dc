// The model: the one that was picked by hand in what is shown, also where the picker is drawn anew;
// a new chat starts with the one picked last in this browser, unless its project has one of its own.

import { keep, kept } from "./account.js";
import { conversation } from "./page.js";

let picked = ""; // by hand, in what is shown now

document.addEventListener("change", ({ target }) => {
  if (target.id !== "model") return;
  picked = target.value;
  keep("model", picked);
});

document.addEventListener("chat:shown", () => {
  picked = "";
  choose();
});

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "model-picker") choose();
});

function choose() {
  const isPreset = document.querySelector("#model-picker[data-preset]");
  const wanted = picked || (!conversation() && !isPreset && kept("model"));
  const picker = document.getElementById("model");
  if ([...picker.options].some(({ value }) => value === wanted)) picker.value = wanted;
}
