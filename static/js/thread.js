// The thread: stays at its end while a reply streams and the person has not scrolled away, copies
// replies and code, and tells a screen reader when a reply begins and ends.

const NEAR = 32; // px from the end that still count as being there

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
  const button = target.closest?.("[data-copy], [data-copy-code], [data-to-latest]");
  if (button?.dataset.copy) copy(button, textOf(document.getElementById(button.dataset.copy)));
  else if (button?.matches("[data-copy-code]")) copy(button, button.parentElement.querySelector("code").textContent);
  else if (button) toEnd();
});

const textOf = (reply) =>
  [...reply.querySelectorAll('[data-region]:not([data-region="reasoning"])')]
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

// ---- what arrives

document.addEventListener("htmx:after:settle", ({ target, detail }) => {
  for (const node of detail.newContent) {
    if (node.nodeType !== Node.ELEMENT_NODE || !node.closest("#messages")) continue;
    if (node.matches(".code")) addCopyButton(node);
    node.querySelectorAll(".code").forEach(addCopyButton);
    if (node.matches('[data-ending="streaming"]')) announce("Reply started");
  }
  // The same frame goes on to bring the notice.
  if (target.matches?.("[data-reply]:not([data-ending=streaming])")) setTimeout(announceEnding, 0, target);
});

function announceEnding(reply) {
  const notice = reply.querySelector(".notice");
  if (notice?.getAttribute("role") === "alert") return; // it speaks for itself
  announce(notice?.textContent ?? "Reply complete");
}

function announce(text) {
  document.getElementById("announcer").textContent = text;
}
