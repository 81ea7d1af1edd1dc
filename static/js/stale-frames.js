// Frames for another conversation than the shown one are dropped: a turn that was asked for before
// the person moved on belongs to a page that is gone. Of which conversation a frame is says the
// composer's state that it brings (data-gone where it takes one away); one without it changes a reply
// by its id, wherever that is.

import { watch } from "./connection.js";
import { refresh } from "./conversation-list.js";
import { swapsOf } from "./htmx-socket.js";
import { conversation } from "./page.js";

document.addEventListener("htmx:before:swap", (event) => {
  const state = swapsOf(event).find(({ target }) => target?.id === "composer-state");
  const { conversation: brought, gone } = state?.fragment.firstElementChild?.dataset ?? {};
  if (gone ? gone === conversation() : !brought || isShown(brought)) return;
  event.preventDefault();
  watch();
  refresh();
});

// A new chat has no id before its first turn comes.
const isShown = (id) =>
  conversation() ? id === conversation() : document.querySelector("#messages > .pending");
