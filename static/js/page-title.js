// The page's title: what it shows, with a mark before it where a reply has ended unseen.

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
