// Drops frames for a conversation that is not shown: a turn sent before the person switched belongs to
// the previous page. The composer state in a frame says which conversation it is for (data-gone if it
// removes one); a frame without one changes a reply by its id, wherever that is.

import { watch } from "./socket.js";
import { refresh } from "../sidebar/conversation-list.js";
import { swapsOf } from "../page/htmx-socket.js";
import { conversation } from "../page/state.js";

document.addEventListener("htmx:before:swap", (event) => {
  const state = swapsOf(event).find(({ target }) => target?.id === "composer-state");
  const { conversation: brought, gone } = state?.fragment.firstElementChild?.dataset ?? {};
  if (gone ? gone === conversation() : !brought || isShown(brought)) return;
  event.preventDefault();
  watch();
  refresh();
});

// A new chat has no id before its first turn.
const isShown = (id) =>
  conversation() ? id === conversation() : document.querySelector("#messages > .pending");
