// Restores what was typed into the forms of a page: after the person had to enter their password in
// between, and when they reload the page or come back to it. Only for the same person.

const SUBMITTED = "kept-fields"; // the form that was submitted last: {path, by, forms}
const LEFT = "left-fields"; // of pages that were left otherwise: {by, forms} by address
const NEVER_KEPT = ["password", "file", "hidden", "submit", "button"];
const main = document.querySelector("main");
const { person, confirmedAt } = main.dataset;
const here = location.pathname;
const address = here + location.search;

const fieldsOf = (form) => [...form.elements].filter((one) => one.name && !NEVER_KEPT.includes(one.type));
const formsOf = () => [...main.querySelectorAll('form[method="post"]')];
const read = (key) => JSON.parse(sessionStorage.getItem(key)) ?? {};

function valueOf(field) {
  if (field.type === "checkbox" || field.type === "radio") return field.checked;
  if (field.type === "select-multiple") return [...field.selectedOptions].map((one) => one.value);
  return field.value;
}

// The values of forms by their position.
const valuesOf = (forms) =>
  Object.fromEntries(forms.map((form) => [formsOf().indexOf(form), fieldsOf(form).map(valueOf)]));

function fill(field, value) {
  if (typeof value === "boolean") field.checked = value;
  else if (Array.isArray(value)) {
    for (const one of field.options) one.selected = value.includes(one.value);
  } else field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.dispatchEvent(new Event("change", { bubbles: true }));
}

// Returns the forms that it filled.
function restore({ by, forms }) {
  if (by !== person) return [];
  return Object.entries(forms).flatMap(([at, values]) => {
    const form = formsOf()[at];
    const fields = form ? fieldsOf(form) : [];
    if (fields.length !== values.length) return [];
    for (const [number, field] of fields.entries()) fill(field, values[number]);
    form.closest("details")?.setAttribute("open", "");
    return [form];
  });
}

function sayRestored(form) {
  const line = document.createElement("p");
  line.textContent = "You had to enter your password first, so nothing has changed yet. What you typed has been restored.";
  const place = document.createElement("div");
  place.className = "messages";
  (main.querySelector(":scope > h1") ?? main.firstElementChild).before(place);
  place.setAttribute("role", "status");
  place.append(line);
  form.querySelector("[type=submit]")?.focus();
}

// Text may have been typed before this script was loaded.
function isChanged(field) {
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  if (!field.options) return field.value !== field.defaultValue;
  const defaults = [...field.options].filter((one) => one.defaultSelected);
  const first = field.multiple || defaults.length ? [] : [...field.options].slice(0, 1);
  return [...field.options].some((one) => one.selected !== [...defaults, ...first].includes(one));
}

let submittedForm = null; // the form that was submitted

main.addEventListener("submit", ({ target }) => {
  if (!formsOf().includes(target)) return;
  submittedForm = target;
  sessionStorage.setItem(SUBMITTED, JSON.stringify({ path: here, by: person, forms: valuesOf([target]) }));
});

addEventListener("pagehide", () => {
  const left = read(LEFT);
  delete left[address];
  const changedForms = formsOf().filter((form) => form !== submittedForm && fieldsOf(form).some(isChanged));
  if (changedForms.length) left[address] = { by: person, forms: valuesOf(changedForms) };
  sessionStorage.setItem(LEFT, JSON.stringify(left));
});

const [{ type } = {}] = performance.getEntriesByType("navigation");
const [submitted, left] = [read(SUBMITTED), read(LEFT)[address]];
sessionStorage.removeItem(SUBMITTED);
if (submitted.path === here && document.referrer.startsWith(location.origin + confirmedAt)) {
  for (const form of restore(submitted)) sayRestored(form);
} else if (left && type !== "navigate") restore(left);
