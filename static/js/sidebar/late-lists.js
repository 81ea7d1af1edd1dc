// A list that was requested may be older than a frame that arrives before it. If that frame removed the
// mark of a running reply, the mark is removed again when the list arrives; if it added a row, the list
// is requested again.

import { refresh } from "./conversation-list.js";

const GONE = /delete target:#(running-[0-9a-f-]+)/;
const ROW = /<li class="conversation" id="nav-/;

const askedAt = new WeakMap(); // request → time
const removedAt = new Map(); // a mark's id → time
let broughtAt = 0; // time of the last added row

document.addEventListener("htmx:ws:before:message:incoming", ({ detail: { message } }) => {
  const mark = GONE.exec(message.data)?.[1];
  if (mark) removedAt.set(mark, performance.now());
  if (ROW.test(message.data)) broughtAt = performance.now();
});

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  askedAt.set(ctx, performance.now());
});

document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
  if (!askedAt.has(ctx)) return;
  for (const [mark, at] of removedAt) {
    if (at > askedAt.get(ctx)) document.getElementById(mark)?.remove();
  }
  if (ctx.sourceElement?.matches("#lists, #project-chats") && broughtAt > askedAt.get(ctx)) refresh();
});
