// The thread: stays at its end while a reply streams and the person has not scrolled away, copies
// replies and code, keeps one's place where the page replaces what one has pressed, and tells a
// screen reader when a reply begins, asks something and ends.

const NEAR = 32; // px from the end that still count as being there
const OURS = ":not([hx-ignore] *)"; // a class of ours in foreign text says nothing (foreign.js)

let scroller = null;
let isPinned = true;
let lastTop = 0;

// ---- staying at the end

const distance = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;

const resized = new ResizeObserver(() => {
  if (isPinned) toEnd();
  else drawButton();
});

document.addEventListener("chat:shown", () => {
  resized.disconnect();
  scroller = document.getElementById("scroller");
  scroller.addEventListener("scroll", scrolled, { passive: true });
  scroller.addEventListener("wheel", (event) => {
    if (event.deltaY < 0 && scroller.scrollHeight > scroller.clientHeight) isPinned = false;
  }, { passive: true });
  resized.observe(scroller);
  resized.observe(document.getElementById("messages"));
  document.querySelectorAll("#messages .code").forEach(addCopyButton);
  toEnd();
  landStep();
});

function scrolled() {
  const top = scroller.scrollTop;
  if (top < lastTop) isPinned = distance() < 1;
  else if (distance() < NEAR) isPinned = true;
  lastTop = top;
  drawButton();
}

function toEnd() {
  isPinned = true;
  scroller.scrollTop = scroller.scrollHeight;
  lastTop = scroller.scrollTop;
  drawButton();
}

function drawButton() {
  document.querySelector("[data-to-latest]").hidden = isPinned || distance() < NEAR;
}

document.addEventListener("htmx:ws:before:message:outgoing", ({ detail }) => {
  if (["prompt", "retry"].includes(detail.message.values.action)) isPinned = true;
});

// ---- copying

document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-copy], [data-copy-code], [data-copy-text], [data-to-latest]");
  if (button?.dataset.copy) copy(button, textOf(document.getElementById(button.dataset.copy)));
  else if (button?.dataset.copyText) copy(button, button.dataset.copyText);
  else if (button?.matches("[data-copy-code]")) copy(button, button.parentElement.querySelector("code").textContent);
  else if (button) toEnd();
});

const textOf = (reply) =>
  [...reply.querySelectorAll('[data-region="answer"], [data-region="refusal"]')]
    .map((region) => region.innerText.trim())
    .join("\n\n");

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyByHand(text); // the clipboard is closed to pages that are not served over TLS
  }
  const icon = button.querySelector("use");
  icon.setAttribute("href", "#icon-check");
  announce("Copied");
  setTimeout(() => icon.setAttribute("href", "#icon-copy"), 1500);
}

function copyByHand(text) {
  const area = Object.assign(document.createElement("textarea"), { value: text });
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

// First in its block, since frames add to what stands last.
function addCopyButton(code) {
  if (code.querySelector(":scope > [data-copy-code]")) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "icon-button copy-code";
  button.dataset.copyCode = "";
  button.title = "Copy code";
  button.setAttribute("aria-label", "Copy code");
  button.innerHTML = '<svg class="icon" aria-hidden="true"><use href="#icon-copy"/></svg>';
  code.prepend(button);
}

// ---- stepping

// From one reply to the next of the same prompt: the control stays under the pointer, and focused.
let step = null;
document.addEventListener("click", ({ target }) => {
  const link = target.closest?.(`.siblings${OURS} > a`);
  if (!link) return;
  const reply = new URL(link.href).searchParams.get("reply");
  step = { reply, label: link.ariaLabel, top: link.getBoundingClientRect().top };
});

function landStep() {
  const nav = step && document.querySelector(`[data-reply="${step.reply}"] .siblings${OURS}`);
  if (nav) {
    const link = nav.querySelector(`[aria-label="${step.label}"]`) ?? nav.querySelector("a");
    link.focus({ preventScroll: true });
    scroller.scrollTop += link.getBoundingClientRect().top - step.top;
    isPinned = distance() < 1;
  }
  step = null;
}

// Through the tokens of a reply, which are one stop for Tab.
document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  if (!target.matches?.(`.token-line > .token${OURS}`)) return;
  const next = { ArrowRight: target.nextElementSibling, ArrowLeft: target.previousElementSibling }[key];
  if (!next) return;
  event.preventDefault();
  target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
});

// ---- what arrives

document.addEventListener("htmx:after:settle", ({ target, detail }) => {
  for (const node of detail.newContent) {
    if (node.nodeType !== Node.ELEMENT_NODE || !node.closest("#messages")) continue;
    if (node.matches(".code")) addCopyButton(node);
    node.querySelectorAll(".code").forEach(addCopyButton);
    if (node.matches('[data-ending="streaming"]')) announce("Reply started");
    if (node.matches(`.waiting${OURS}`)) announce(node.textContent);
    if (node.matches('[data-state="asking"]')) announce(node.querySelector(`.tool-question${OURS}`).textContent);
    if (node.id && node.id === answered) keepPlace(node);
  }
  // The same frame goes on to bring the notice.
  if (target.matches?.("[data-reply]:not([data-ending=streaming])")) setTimeout(announceEnding, 0, target);
});

// Allow and Deny go as soon as they are pressed: who pressed one by key goes on from its call.
let answered = "";
document.addEventListener("click", ({ target, detail: clicks }) => {
  const call = target.closest?.(`.tool-answer > button${OURS}`)?.closest(".tool-call");
  if (call) answered = clicks ? "" : call.id;
});

function keepPlace(call) {
  if (document.activeElement === document.body) call.querySelector("summary").focus({ preventScroll: true });
}

function announceEnding(reply) {
  const notice = reply.querySelector(`.notice${OURS}`);
  if (notice?.getAttribute("role") === "alert") return; // it speaks for itself
  announce(notice?.textContent ?? "Reply complete");
}

function announce(text) {
  document.getElementById("announcer").textContent = text;
}
