// htmx 4.0.1 and its hx-ws from the inside: the one socket of the page, and the swaps that a frame
// or an answer asks for. What their documentation does not promise is touched in this file alone,
// each with its reason, so that an upgrade has one place to look at. Knows nothing of chats.

const app = document.getElementById("app"); // the element with hx-ws:connect
let connection = null; // hx-ws's own, as its events give it

// ---- the socket

// hx-ws takes the URL from its attribute once; at each try it opens `connection.url`, which is ours
// to set in this event. `urlOf` gives it, or nothing where no socket is to be opened.
export function beforeConnecting(urlOf) {
  document.addEventListener("htmx:ws:before:connection", ({ detail }) => {
    connection = detail.connection;
    const url = urlOf();
    if (url) connection.url = url;
    else connection.cancelled = true;
  });
}

// There is no function to send by hand, so that all but forms and buttons goes to its socket.
export const isOpen = () => connection?.socket?.readyState === WebSocket.OPEN;
export const isOpening = () => connection?.socket?.readyState === WebSocket.CONNECTING;
export const openedUrl = () => connection.socket.url;
export const unsentBytes = () => connection?.socket?.bufferedAmount ?? 0;
export const send = (fields) => connection.socket.send(JSON.stringify(fields));

// hx-ws keeps what is sent while it reconnects, but drops it while the element has no connection.
export const takesMessages = () => Boolean(app._htmx?.ws?.connection);

// To be called in `htmx:ws:close`, after which hx-ws reads its config: it opens another socket in so
// many ms, whatever the close code was. A timer that it has already is of a loss before this one.
export function openAgainIn(ms, code) {
  clearTimeout(connection.timer);
  const { config } = connection;
  Object.assign(config, { reconnectDelay: ms, reconnectMaxDelay: ms, reconnectCodes: [code] });
}

// Gives the socket up, as if it had been closed (1006): of a network that went silent a browser says
// so after minutes. Nothing that comes of it later is heard.
export function giveUp() {
  const { socket } = connection;
  for (const type of ["open", "message", "error", "close"]) {
    socket.addEventListener(type, hear, { capture: true });
  }
  socket.close();
  socket.dispatchEvent(new CloseEvent("close", { code: 1006 }));
}

function hear(event) {
  if (event.isTrusted) event.stopImmediatePropagation();
}

// Nor is there a function to connect where hx-ws has no connection any more: to clean the element up
// (`true`) and process it is what does.
export function reopen() {
  if (!takesMessages()) htmx.process(app, true);
}

// What a lost socket may have swallowed: hx-ws keeps only what it had not sent, in its queue, where
// `message` is the object that `htmx:ws:before:message:outgoing` had.
export function sendAgain(message) {
  if (!message.data || connection.queue.some((waiting) => waiting.message === message)) return;
  connection.socket.send(message.data);
}

// ---- the swaps of `htmx:before:swap`, whose tasks are undocumented inside

// Each as {target, fragment, isOuter, isAppended}: where it goes, what it brings, and whether in its
// place or at its end.
export const swapsOf = ({ detail: { tasks } }) =>
  tasks.map(({ target, fragment, swapSpec }) => {
    const style = swapSpec?.style ?? "";
    return { target, fragment, isOuter: style.startsWith("outer"), isAppended: style === "beforeend" };
  });

// Those that the answer hides in itself, besides its own, are not done.
export function dropSwapsOutOfBand({ detail: { tasks } }) {
  tasks.splice(0, tasks.length, ...tasks.filter(({ type }) => type === "main"));
}
