// The button of the outline is there once a thread is long; its last page is shown from its end.

const LONG = 30; // messages, which a page holds at first

document.addEventListener("htmx:after:settle", ({ target }) => {
  const button = document.querySelector(".topbar-outline");
  if (target.id === "messages" && button?.hidden) button.hidden = target.children.length <= LONG;
  if (target.id !== "outline-page") return;
  const list = target.querySelector(".outline");
  list.scrollTop = target.querySelector("nav button:last-of-type:not(:disabled)") ? 0 : list.scrollHeight;
});
