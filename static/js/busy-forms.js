// A form with `data-busy` shows that text on its button while the response is awaited.

const buttonOf = (form) => form.querySelector("[type=submit]");

document.addEventListener("submit", ({ target }) => {
  if (!target.dataset.busy) return;
  const button = buttonOf(target);
  button.dataset.words = button.textContent;
  button.textContent = target.dataset.busy;
  button.ariaDisabled = "true";
  target.inert = true; // no second submit
});

// A page restored from the back/forward cache gets its form back.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-busy][inert]")) {
    buttonOf(form).textContent = buttonOf(form).dataset.words;
    buttonOf(form).ariaDisabled = null;
    form.inert = false;
  }
});
