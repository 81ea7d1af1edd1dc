// A form whose answer takes long says so, in its button, with the words of its `data-busy`.

const buttonOf = (form) => form.querySelector("[type=submit]");

document.addEventListener("submit", ({ target }) => {
  if (!target.dataset.busy) return;
  const button = buttonOf(target);
  button.dataset.words = button.textContent;
  button.textContent = target.dataset.busy;
  button.ariaDisabled = "true";
  target.inert = true; // once is enough
});

// Whoever comes back to a page that the browser has kept finds it as it was.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-busy][inert]")) {
    buttonOf(form).textContent = buttonOf(form).dataset.words;
    buttonOf(form).ariaDisabled = null;
    form.inert = false;
  }
});
