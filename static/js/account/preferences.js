// Preferences that are stored in this browser. They are attributes of the root element, such as
// data-scheme; static/js/preload.js sets them before the next page is drawn.

const attributeOf = (name) => `data-${name}`;

export function choose(name, value) {
  if (value) localStorage.setItem(name, value);
  else localStorage.removeItem(name);
  const root = document.documentElement;
  if (value) root.setAttribute(attributeOf(name), value);
  else root.removeAttribute(attributeOf(name));
}

document.addEventListener("change", ({ target }) => {
  const name = target.closest?.("[data-setting]")?.dataset.setting;
  if (name) choose(name, target.value);
});

addEventListener("storage", draw); // chosen in another tab

function draw() {
  for (const { dataset: { setting: name } } of document.querySelectorAll("[data-setting]")) {
    const chosen = localStorage.getItem(name) ?? "";
    for (const choice of document.getElementsByName(name)) choice.checked = choice.value === chosen;
  }
}

draw();
