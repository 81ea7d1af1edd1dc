// j and k go from row to row of the review's list; a row's link opens by Enter as any other does.

const STEPS = { j: 1, k: -1 };

document.addEventListener("keydown", (event) => {
  const step = STEPS[event.key];
  const isTyped = event.target.closest("input, select, textarea");
  if (!step || isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
  const links = [...document.querySelectorAll(".review-list tbody th a")];
  const present = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
  const next = present < 0 ? links[0] : links[present + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
});
