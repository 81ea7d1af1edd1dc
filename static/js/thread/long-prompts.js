// A long prompt is folded until its button is pressed, or until the browser scrolls to a hidden part of
// it: a match of find-in-page, or a link that gets the focus. All of its text stays in the page, for
// searching and screen readers.

const buttonOf = (text) => document.querySelector(`[data-unfold][aria-controls="${text.id}"]`);

function fold(text, isFolded) {
  const button = buttonOf(text);
  if (isFolded) text.scrollTop = 0;
  text.classList.toggle("folded", isFolded);
  button.setAttribute("aria-expanded", !isFolded);
  button.textContent = isFolded ? "Show all" : "Show less";
  if (isFolded) button.scrollIntoView({ block: "nearest" });
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-unfold]:not([hx-ignore] *)");
  if (!button) return;
  const text = document.getElementById(button.getAttribute("aria-controls"));
  fold(text, button.getAttribute("aria-expanded") === "true");
});

document.addEventListener("scroll", ({ target }) => {
  if (target.matches?.(".folded:not([hx-ignore] *)") && target.scrollTop > 0) fold(target, false);
}, true);
