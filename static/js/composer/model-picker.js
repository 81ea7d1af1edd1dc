// The selected model. A model picked by the person stays selected when the picker is redrawn, as does
// that of the reply they continue with after a comparison; a new chat starts with the model that its
// address names, or the one picked last in this browser, unless its project has its own.

import { keep, readKept } from "../account/storage.js";
import { OURS } from "../page/untrusted-html.js";
import { conversation } from "../page/state.js";

let pickedModel = ""; // by the person, in the shown conversation

document.addEventListener("change", ({ target }) => {
  if (target.id !== "model") return;
  pickedModel = target.value;
  keep("model", pickedModel);
});

document.addEventListener("click", ({ target }) => {
  const chosen = target.closest?.(`.beside-choose${OURS}`);
  if (!chosen) return;
  pickedModel = chosen.dataset.model;
  choose();
});

document.addEventListener("chat:shown", () => {
  pickedModel = "";
  choose();
});

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "model-picker") choose();
});

function choose() {
  const isPreselected = document.querySelector("#model-picker[data-preselected]");
  const named = new URLSearchParams(location.search).get("model");
  const chosenModel = pickedModel || (!conversation() && (named || (!isPreselected && readKept("model"))));
  const picker = document.getElementById("model");
  if ([...picker.options].some(({ value }) => value === chosenModel)) picker.value = chosenModel;
}
