// The seconds for which nothing has come of a reply, told once there are ten, and those until it is
// asked for again: counted here, from where the server said that they stood (data-silent-for, below 0
// until the next try), so that it need not send one each second.

const CALM = 10; // s without a word of it
const TICK = 1000; // ms

const seconds = () => performance.now() / 1000;
const silentSince = new WeakMap(); // by the element that says what is waited for
const heardAt = new WeakMap(); // by the reply
const lengths = new WeakMap(); // of the reply's text

const app = document.getElementById("app"); // outlives every page that is shown in it

new MutationObserver((changes) => {
  let isRedrawn = false;
  for (const { target } of changes) {
    const reply = target.closest?.(".regions")?.parentElement;
    if (reply) heardAt.set(reply, seconds());
    else isRedrawn = true;
  }
  if (isRedrawn) begin();
}).observe(app, { childList: true, subtree: true });

const waits = () => app.querySelectorAll('[data-ending="streaming"] .waiting[data-silent-for]');

function begin() {
  for (const waiting of waits()) {
    if (silentSince.has(waiting)) continue;
    silentSince.set(waiting, seconds() - Number(waiting.dataset.silentFor));
  }
}

function count() {
  begin();
  for (const waiting of waits()) draw(waiting, waiting.closest("[data-reply]"));
}

// Words that join others in their node: to be told of each would cost as much as to write it.
function hear(reply) {
  const { length } = reply.querySelector(".regions").textContent;
  if (lengths.has(reply) && lengths.get(reply) !== length) heardAt.set(reply, seconds());
  lengths.set(reply, length);
}

function draw(waiting, reply) {
  hear(reply);
  countDown(waiting.querySelector(".countdown"), silentSince.get(waiting));
  const since = Math.max(silentSince.get(waiting), heardAt.get(reply) ?? 0);
  const silence = Math.floor(seconds() - since);
  const line = waiting.querySelector(".silence");
  const isLong = silence >= CALM;
  const hasText = reply.querySelector(".regions > :last-child:not(.tool-call)");
  const text = hasText ? `Nothing has come for ${silence} s…` : `${silence} s`;
  waiting.toggleAttribute("data-silent", isLong);
  if (isLong || line.textContent) line.textContent = isLong ? text : "";
}

function countDown(line, at) {
  const left = Math.ceil(at - seconds());
  const text = left > 0 ? `in ${left} s` : "now";
  if (line && line.textContent !== text) line.textContent = text;
}

setInterval(count, TICK);
count();
