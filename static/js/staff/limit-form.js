// The sentence of a limit: hides the fields that its other choices make meaningless, and shows whom it
// concerns and how much they used last month.

const form = document.querySelector("[data-limit]");
const preview = document.getElementById("preview");
const { elements } = form;
let latest = 0; // the number of the last request

function show(name, isShown) {
  const field = elements[name];
  field.closest(".part").hidden = !isShown;
  if (!isShown && name !== "period") field.value = "";
}

function draw() {
  show("period", ["tokens", "money"].includes(elements.measure.value));
  show("person", elements.whose.value === "person");
  show("group", elements.whose.value.startsWith("group"));
  show("model", elements.upstream.value);
}

async function fetchPreview() {
  const number = ++latest;
  const fields = new FormData(form);
  fields.delete("csrfmiddlewaretoken");
  const answer = await fetch(`${form.dataset.preview}?${new URLSearchParams(fields)}`).catch(() => null);
  const html = answer?.ok ? await answer.text() : "";
  if (number === latest) preview.innerHTML = html;
}

form.addEventListener("change", () => {
  draw();
  fetchPreview();
});
draw();
fetchPreview();
