// Adds a copy button to each code block; the renderer writes none.

import { addressOf } from "../page/icons.js";

const addAll = () => addButtons(document.getElementById("messages"));

document.addEventListener("chat:shown", addAll);

document.addEventListener("htmx:after:settle", ({ detail }) => {
  for (const node of detail.newContent) {
    if (node.nodeType === Node.ELEMENT_NODE && node.closest("#messages")) addButtons(node);
  }
});

function addButtons(within) {
  if (within.matches(".code")) addButton(within);
  within.querySelectorAll(".code").forEach(addButton);
}

// First in its block, because frames append to the last element.
function addButton(code) {
  if (code.querySelector(":scope > [data-copy-code]")) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "icon-button copy-code";
  button.dataset.copyCode = "";
  button.title = "Copy code";
  button.setAttribute("aria-label", "Copy code");
  button.innerHTML = `<svg class="icon" aria-hidden="true"><use href="${addressOf("copy")}"/></svg>`;
  code.prepend(button);
}

addAll();
