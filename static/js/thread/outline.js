// Shows the outline's button once a thread is long; scrolls the outline's last page to its end.

const LONG = 30; // messages: as many as a page has at first

document.addEventListener("htmx:after:settle", ({ target }) => {
  const button = document.querySelector(".topbar-outline");
  if (target.id === "messages" && button?.hidden) button.hidden = target.children.length <= LONG;
  if (target.id !== "outline-page") return;
  const list = target.querySelector(".outline");
  list.scrollTop = target.querySelector("nav button:last-of-type:not(:disabled)") ? 0 : list.scrollHeight;
});
