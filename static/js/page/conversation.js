// Which conversation the page shows, with its address and title. Fires `chat:shown` on the document for
// the first conversation and each other one, and `chat:named` when a new chat has been stored and so has
// an address. If the shown conversation is deleted, a new chat takes its place: `chat:gone`, then
// `chat:shown`. The page's title has a mark in front if a reply has ended unseen.

const tell = (name) => document.dispatchEvent(new Event(name));

document.addEventListener("DOMContentLoaded", () => tell("chat:shown"));

document.addEventListener("htmx:after:swap", ({ detail }) => {
  const { target, swap } = detail.ctx;
  if (target?.id === "main" && swap !== "beforeend") tell("chat:shown"); // or it is a panel beside the chat
});

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (target.id === "title") {
    setTitle(target.textContent.trim());
    showOptions();
  }
  if (target.id !== "composer-state") return;
  if (target.dataset.gone) leave();
  else adopt(target.dataset);
});

const setAddress = (url) => history.replaceState({ ...history.state, htmx: true }, "", url);

// A frame may be late: Back may have led elsewhere while that page is still loading.
function adopt({ url, title, conversation, temporary }) {
  if (!url) return;
  const heading = document.getElementById("title");
  const isNew = !heading.dataset.conversation;
  const wasLeft = location.pathname.startsWith(url.replace(`${conversation}/`, ""));
  if (location.pathname === url || (isNew && !wasLeft)) setAddress(url);
  if (!isNew) return;
  setTitle(title);
  heading.textContent = title;
  for (const one of document.querySelectorAll("#title, #preset-chip, #settings-state")) one.dataset.conversation = conversation;
  heading.toggleAttribute("data-temporary", temporary !== undefined);
  Object.assign(document.getElementById("chat-options").dataset, { id: conversation, url, folder: "list" });
  showOptions();
  tell("chat:named");
}

// A temporary chat has none.
function showOptions() {
  const { conversation, temporary } = document.getElementById("title").dataset;
  document.getElementById("chat-options").hidden = !conversation || temporary !== undefined;
}

function leave() {
  setAddress("/");
  document.querySelectorAll(".crumb:not(#preset-chip), .project-head, .project-about, .project-page").forEach((one) => one.remove());
  tell("chat:gone");
  tell("chat:shown");
}

const MARK = "● ";
let isMarked = false;

function setTitle(title) {
  document.title = `${isMarked ? MARK : ""}${title} · ${document.body.dataset.app}`;
}

export function markTitle(isUnseen) {
  isMarked = isUnseen;
  const bare = document.title.startsWith(MARK) ? document.title.slice(MARK.length) : document.title;
  document.title = `${isMarked ? MARK : ""}${bare}`;
}
