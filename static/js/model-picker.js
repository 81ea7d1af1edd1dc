// The selected model. A model picked by the person stays selected when the picker is redrawn, as does
// that of the reply they continue with after a comparison; a new chat starts with the model that its
// address names, or the one picked last in this browser, unless its project has its own.

import { keep, kept } from "./account.js";
import { OURS } from "./untrusted-html.js";
import { conversation } from "./page.js";

let picked = ""; // by the person, in the shown conversation

document.addEventListener("change", ({ target }) => {
  if (target.id !== "model") return;
  picked = target.value;
  keep("model", picked);
});

document.addEventListener("click", ({ target }) => {
  const chosen = target.closest?.(`.beside-choose${OURS}`);
  if (!chosen) return;
  picked = chosen.dataset.model;
  choose();
});

document.addEventListener("chat:shown", () => {
  picked = "";
  choose();
});

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "model-picker") choose();
});

function choose() {
  const isPreselected = document.querySelector("#model-picker[data-preselected]");
  const named = new URLSearchParams(location.search).get("model");
  const wanted = picked || (!conversation() && (named || (!isPreselected && kept("model"))));
  const picker = document.getElementById("model");
  if ([...picker.options].some(({ value }) => value === wanted)) picker.value = wanted;
}
