// Words that follow words join their node, so that a paragraph is one node and not one for each
// token: a word that is written to its end on the next line is then no node that moves.

import { swapsOf } from "./htmx-socket.js";

document.addEventListener("htmx:before:swap", (event) => {
  const [swap, ...others] = swapsOf(event);
  if (!swap?.isAppended || others.length) return; // each would have to wait for those before it
  const { target, fragment } = swap;
  const [added, ...more] = (fragment.firstElementChild?.content ?? fragment).childNodes;
  if (!isText(added) || more.length || !isText(target.lastChild)) return;
  target.lastChild.appendData(added.data);
  added.remove();
});

const isText = (node) => node?.nodeType === Node.TEXT_NODE;
