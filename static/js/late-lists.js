// A list may be read before a frame that comes while it is on its way. One that takes the mark of a
// running reply away came too early, so the mark goes when the list comes; one that brings a row came
// to the list before, so the list is asked for again.

import { refresh } from "./conversation-list.js";

const GONE = /delete target:#(running-[0-9a-f-]+)/;
const ROW = /<li class="conversation" id="nav-/;

const asked = new WeakMap(); // a request → when
const gone = new Map(); // a mark's id → when
let broughtAt = 0; // when a row came last

document.addEventListener("htmx:ws:before:message:incoming", ({ detail: { message } }) => {
  const mark = GONE.exec(message.data)?.[1];
  if (mark) gone.set(mark, performance.now());
  if (ROW.test(message.data)) broughtAt = performance.now();
});

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  asked.set(ctx, performance.now());
});

document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
  if (!asked.has(ctx)) return;
  for (const [mark, at] of gone) {
    if (at > asked.get(ctx)) document.getElementById(mark)?.remove();
  }
  if (ctx.sourceElement?.matches("#lists, #project-chats") && broughtAt > asked.get(ctx)) refresh();
});
