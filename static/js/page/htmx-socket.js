// The internals of htmx 4.0.1 and hx-ws: the page's one socket, and the swaps of a frame or response.
// Only this file uses what their documentation does not promise, each with its reason, so that an
// upgrade has one place to check. It knows nothing about chats.

const app = document.getElementById("app"); // the element with hx-ws:connect
let connection = null; // hx-ws's connection object, from its events

// ---- the socket

// hx-ws reads the URL from its attribute once; each try opens `connection.url`, which may be set in this
// event. `urlOf` returns the URL, or a false value to open no socket.
export function beforeConnecting(urlOf) {
  document.addEventListener("htmx:ws:before:connection", ({ detail }) => {
    connection = detail.connection;
    const url = urlOf();
    if (url) connection.url = url;
    else connection.cancelled = true;
  });
}

// hx-ws has no function for sending, so everything but forms and buttons uses its socket directly.
export const isOpen = () => connection?.socket?.readyState === WebSocket.OPEN;
export const isOpening = () => connection?.socket?.readyState === WebSocket.CONNECTING;
export const openedUrl = () => connection.socket.url;
export const unsentBytes = () => connection?.socket?.bufferedAmount ?? 0;
export const send = (fields) => connection.socket.send(JSON.stringify(fields));

// hx-ws queues messages while it reconnects, but drops them while the element has no connection.
export const takesMessages = () => Boolean(app._htmx?.ws?.connection);

// Reconnects in `ms`, whatever the close code. Call it in `htmx:ws:close`, after which hx-ws reads its
// config. A timer that is already running is from an earlier loss.
export function openAgainIn(ms, code) {
  clearTimeout(connection.timer);
  const { config } = connection;
  Object.assign(config, { reconnectDelay: ms, reconnectMaxDelay: ms, reconnectCodes: [code] });
}

// Drops the socket as if it had been closed with 1006: after a network went silent, the browser itself
// would only notice after minutes. Later events of the socket are ignored.
export function giveUp() {
  const { socket } = connection;
  for (const type of ["open", "message", "error", "close"]) {
    socket.addEventListener(type, stopEvent, { capture: true });
  }
  socket.close();
  socket.dispatchEvent(new CloseEvent("close", { code: 1006 }));
}

function stopEvent(event) {
  if (event.isTrusted) event.stopImmediatePropagation();
}

// hx-ws has no function for connecting again once its connection is gone; cleaning up the element
// (`true`) and processing it does so.
export function reopen() {
  if (!takesMessages()) htmx.process(app, true);
}

// Keeps a message from being sent, in a promise that its `htmx:ws:before:message:outgoing` waits for.
export function cancelMessage(detail) {
  detail.cancelled = true;
}

// Sends a message again that a lost socket may have swallowed. hx-ws only queues what it has not sent;
// `message` there is the object from `htmx:ws:before:message:outgoing`.
export function sendAgain(message) {
  if (!message.data || connection.queue.some((waiting) => waiting.message === message)) return;
  connection.socket.send(message.data);
}

// ---- the swaps of `htmx:before:swap`; the structure of its tasks is undocumented

// The swaps as {target, fragment, isOuter, isAppended}: the target, the new content, and whether it
// replaces the target or is appended to it.
export const swapsOf = ({ detail: { tasks } }) =>
  tasks.map(({ target, fragment, swapSpec }) => {
    const style = swapSpec?.style ?? "";
    return { target, fragment, isOuter: style.startsWith("outer"), isAppended: style === "beforeend" };
  });

// Drops the out-of-band swaps in a response, keeping its main swap.
export function removeSwapsOutOfBand({ detail: { tasks } }) {
  tasks.splice(0, tasks.length, ...tasks.filter(({ type }) => type === "main"));
}
