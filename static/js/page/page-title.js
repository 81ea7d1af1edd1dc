// The page's title: the shown conversation, with a mark in front if a reply has ended unseen.

const MARK = "● ";
let isMarked = false;

export function setTitle(title) {
  document.title = `${isMarked ? MARK : ""}${title} · ${document.body.dataset.app}`;
}

export function mark(isUnseen) {
  isMarked = isUnseen;
  const bare = document.title.startsWith(MARK) ? document.title.slice(MARK.length) : document.title;
  document.title = `${isMarked ? MARK : ""}${bare}`;
}
