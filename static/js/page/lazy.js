// Loads scripts on demand. Scripts for actions are loaded when the pointer or the focus comes near; an
// event that arrives before its script is held back and dispatched again once the script has loaded. Other
// scripts are loaded once there are replies or messages that need them.

import { OURS } from "./untrusted-html.js";
import { isStreaming, streaming } from "./state.js";
import { tell } from "./toast.js";

const FAILED = "That didn't work. Nothing was changed. Try again in a moment.";

const isChanged = ({ ctrlKey, metaKey, shiftKey }) => ctrlKey || metaKey || shiftKey;
const opensMenu = `:is([popovertarget="message-menu"], [data-answer-with])${OURS}`;

// ---- actions

// For each script: the elements that it is for, and the events that it handles.
const BY_HAND = [
  {
    load: () => import("../sidebar/actions.js"),
    near: `#lists, .conversation${OURS}, #chat-options, #title, [data-answers], [data-keep]`,
    acts: (event) => {
      const on = (selector) => event.target.closest?.(selector);
      if (event.type === "submit") return on("[data-answers], [data-keep]");
      if (event.type === "keydown") return event.key === "F2" && on(`.conversation${OURS}`);
      if (event.type === "dblclick" || isChanged(event)) return on(`.conversation-row${OURS}`);
      return on(`:is(.conversation > button, #chat-options, #title)${OURS}, [data-change]:not(#lists), [data-opens-instead], [data-export-project]`);
    },
  },
  {
    load: () => import("../thread/message-actions.js"),
    near: `${opensMenu}, .siblings${OURS}, .feedback${OURS}, .token-line${OURS}`,
    acts: ({ type, key, target }) =>
      (type === "click" &&
        target.closest?.(`${opensMenu}, .siblings${OURS} > button, .feedback${OURS} button`)) ||
      (key?.startsWith("Arrow") && target.closest?.(`.token${OURS}`)),
  },
  {
    load: () => import("../thread/editing.js"),
    near: `[data-edit]${OURS}`,
    acts: ({ type, key, target }) =>
      (type === "click" && target.closest?.(`[data-edit]${OURS}`)) ||
      (key === "ArrowUp" && target.id === "message" && !target.value),
  },
  {
    load: () => import("../files/viewer.js"),
    near: `[data-view]${OURS}`,
    acts: (event) => event.type === "click" && !isChanged(event) && event.target.closest?.(`[data-view]${OURS}`),
  },
  {
    load: () => import("../settings/panel.js"),
    near: `[data-settings]${OURS}`,
    acts: ({ type, target }) => type === "click" && target.closest?.(`[data-settings]${OURS}`),
  },
];

// A held event may change the meaning of these: Escape ends a selection, or else stops a reply.
const mayFollow = ({ type, key, target }, near) =>
  key === "Escape" || (type === "click" && target.closest?.(near));

for (const { load, near, acts } of BY_HAND) {
  let loading = null;
  let isLoaded = false;
  let isAwaited = false; // by an event that was held back

  const loadOnce = () => {
    loading ??= load().then(() => (isLoaded = true), () => (loading = null));
    return loading;
  };

  for (const type of ["pointerover", "focusin"]) {
    document.addEventListener(type, ({ target }) => isLoaded || (target.closest?.(near) && loadOnce()));
  }
  for (const type of ["click", "dblclick", "keydown", "submit"]) {
    window.addEventListener(type, async (event) => {
      if (isLoaded || !(acts(event) || (isAwaited && mayFollow(event, near)))) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      isAwaited = true;
      if (await loadOnce()) event.target.dispatchEvent(new event.constructor(type, event));
      else tell(FAILED);
      isAwaited = false;
    }, true);
  }
}

// ---- replies

for (const type of ["chat:shown", "htmx:after:settle"]) {
  document.addEventListener(type, () => {
    const mayHaveCode = isStreaming() || document.querySelector("#messages .code");
    if (mayHaveCode) import("../thread/code-buttons.js").catch(() => {});
    if (isStreaming()) noteEndingsLater(streaming());
  });
}

const early = new Set(); // replies that streamed before thread/while-streaming.js had loaded

async function noteEndingsLater(replies) {
  for (const reply of replies) early.add(reply);
  const { noteEndings } = await import("../thread/while-streaming.js").catch(() => ({}));
  if (!noteEndings) return;
  noteEndings([...early]);
  early.clear();
}

// ---- messages

// Their scripts and styles, which an empty chat does not need at first, are loaded with its first message,
// or at the first sign of a person, who may open something that has the same styles.

const AGAIN = 3000; // ms until the next try

const styles = document.getElementById("messages-styles"); // enabled if the page came with messages
let areComing = false;

function loadMessages() {
  if (areComing) return;
  areComing = true;
  styles.disabled = false;
  import("../messages.js").catch(loadMessagesAgain);
}

function loadMessagesAgain() {
  setTimeout(() => {
    areComing = false;
    loadMessages();
  }, AGAIN);
}

styles.addEventListener("error", () => {
  styles.disabled = true; // or it would not be requested again
  loadMessagesAgain();
});

// Not "pointerover", which the browser also fires when a page appears below a pointer at rest.
for (const type of ["pointermove", "pointerdown", "keydown", "input"]) {
  document.addEventListener(type, ({ isTrusted }) => isTrusted && loadMessages(), true);
}

for (const type of ["chat:shown", "htmx:after:settle"]) {
  document.addEventListener(type, () => document.querySelector("#messages > *") && loadMessages());
}
