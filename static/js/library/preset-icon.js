// The form of a preset shows the icon that is chosen while the choice is folded. It may have been chosen
// before this script was loaded.

const choice = document.querySelector(".preset-icon");

function show() {
  const chosen = choice.querySelector(":checked ~ svg use");
  if (chosen) choice.querySelector("summary use").setAttribute("href", chosen.getAttribute("href"));
}

choice?.addEventListener("change", show);
if (choice) show();
