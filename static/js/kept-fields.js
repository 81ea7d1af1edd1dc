// Restores what was typed into a staff form after the person had to enter their password in between;
// only for the same person.

const KEY = "kept-fields";
const NEVER_KEPT = ["password", "file", "hidden", "submit", "button"];
const main = document.querySelector("main.staff");
const { person, confirmedAt } = main.dataset;

const fieldsOf = (form) => [...form.elements].filter((one) => one.name && !NEVER_KEPT.includes(one.type));
const formsOf = () => [...main.querySelectorAll('form[method="post"]')];

function valueOf(field) {
  if (field.type === "checkbox" || field.type === "radio") return field.checked;
  if (field.type === "select-multiple") return [...field.selectedOptions].map((one) => one.value);
  return field.value;
}

function fill(field, value) {
  if (typeof value === "boolean") field.checked = value;
  else if (Array.isArray(value)) {
    for (const one of field.options) one.selected = value.includes(one.value);
  } else field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.dispatchEvent(new Event("change", { bubbles: true }));
}

function restore({ path, by, at, values }) {
  const form = formsOf()[at];
  const fields = form ? fieldsOf(form) : [];
  if (path !== location.pathname || by !== person || fields.length !== values.length) return;
  for (const [number, field] of fields.entries()) fill(field, values[number]);
  const line = document.createElement("p");
  line.textContent = "You had to enter your password first, so nothing has changed yet. What you typed has been restored.";
  const place = document.createElement("div");
  place.className = "messages";
  main.prepend(place);
  place.setAttribute("role", "status");
  place.append(line);
  form.closest("details")?.setAttribute("open", "");
  form.querySelector("[type=submit]")?.focus();
}

main.addEventListener("submit", ({ target }) => {
  const at = formsOf().indexOf(target);
  if (at < 0) return;
  const kept = { path: location.pathname, by: person, at, values: fieldsOf(target).map(valueOf) };
  sessionStorage.setItem(KEY, JSON.stringify(kept));
});

const kept = sessionStorage.getItem(KEY);
sessionStorage.removeItem(KEY);
if (kept && document.referrer.startsWith(location.origin + confirmedAt)) {
  restore(JSON.parse(kept));
}
