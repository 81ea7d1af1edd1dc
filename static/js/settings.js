// The settings of the preferences page that are stored in this browser. They are attributes of the root element,
// such as data-scheme; static/js/preload.js sets them before the next page is drawn.

const groups = () => document.querySelectorAll("[data-setting]");
const attributeOf = (name) => `data-${name}`;

document.addEventListener("change", ({ target }) => {
  const name = target.closest?.("[data-setting]")?.dataset.setting;
  if (!name) return;
  if (target.value) localStorage.setItem(name, target.value);
  else localStorage.removeItem(name);
  draw();
});

addEventListener("storage", draw); // chosen in another tab

function draw() {
  for (const { dataset: { setting: name } } of groups()) {
    const chosen = localStorage.getItem(name) ?? "";
    const root = document.documentElement;
    if (chosen) root.setAttribute(attributeOf(name), chosen);
    else root.removeAttribute(attributeOf(name));
    for (const choice of document.getElementsByName(name)) choice.checked = choice.value === chosen;
  }
}

draw();
