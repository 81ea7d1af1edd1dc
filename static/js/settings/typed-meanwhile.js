// Keeps what is typed into the panel of a chat's settings while the server draws it again.

const FIELDS = ":is(input, textarea, select):not([type=hidden], [hx-trigger])";

const panel = () => document.getElementById("chat-settings");
const shownModel = () => panel().querySelector("[name=settings_of]")?.value;
const fields = () => [...panel().querySelectorAll(FIELDS)];
const values = () => new Map(fields().map(({ name, value }) => [name, value]));

let askedValues = null; // the panel's values when its next version was asked for
let lateValues = new Map(); // those that have changed since
let model; // whose settings they are

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (ctx.target?.id === "chat-settings") askedValues = values();
});

document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => {
  if (ctx.target?.id !== "chat-settings" || !askedValues) return;
  lateValues = new Map([...values()].filter(([name, value]) => askedValues.get(name) !== value));
  model = shownModel();
  askedValues = null;
});

// Not after it has settled: a prompt may be sent before that.
document.addEventListener("htmx:before:settle", ({ target }) => {
  if (target.id !== "chat-settings" || shownModel() !== model) return;
  for (const field of fields()) {
    if (!lateValues.has(field.name)) continue;
    field.value = lateValues.get(field.name);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  lateValues.clear();
});
