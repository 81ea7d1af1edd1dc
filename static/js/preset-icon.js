// The form of a preset shows the icon that is chosen while the choice is folded.

const choice = document.querySelector(".preset-icon");
const shown = choice?.querySelector("summary use");

choice?.addEventListener("change", (event) => {
  const chosen = event.target.closest("label").querySelector("use");
  shown.setAttribute("href", chosen.getAttribute("href"));
});
