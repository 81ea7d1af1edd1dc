// Which conversation the page shows. Tells the document `chat:shown` where it is another one, or the
// page's first, and `chat:named` where the new chat that it shows was stored and so has an address.
// Where the shown one was deleted, a new chat takes its place: `chat:gone`, and then `chat:shown`.

import { setTitle } from "./page-title.js";

const tell = (name) => document.dispatchEvent(new Event(name));

document.addEventListener("DOMContentLoaded", () => tell("chat:shown"));

document.addEventListener("htmx:after:swap", ({ detail }) => {
  if (detail.ctx.target?.id === "main") tell("chat:shown");
});

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "title") setTitle(target.textContent.trim());
  if (target.id !== "composer-state") return;
  if (target.dataset.gone) leave();
  else adopt(target.dataset);
});

const setAddress = (url) => history.replaceState({ ...history.state, htmx: true }, "", url);

// Frames come late, too, where Back has led on and that conversation's page is awaited.
function adopt({ url, title, conversation, temporary }) {
  if (!url) return;
  const heading = document.getElementById("title");
  const isNew = !heading.dataset.conversation;
  const wasLeft = location.pathname.startsWith(url.replace(`${conversation}/`, ""));
  if (location.pathname === url || (isNew && !wasLeft)) setAddress(url);
  if (!isNew) return;
  setTitle(title);
  heading.textContent = title;
  heading.dataset.conversation = conversation;
  heading.toggleAttribute("data-temporary", temporary !== undefined);
  tell("chat:named");
}

function leave() {
  setAddress("/");
  document.querySelectorAll(".crumb, .project-page").forEach((one) => one.remove());
  tell("chat:gone");
  tell("chat:shown");
}
