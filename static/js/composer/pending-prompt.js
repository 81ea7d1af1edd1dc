// The prompt that was sent and has no answer yet. It is in the thread from the moment it is sent until the
// server has drawn it.

let pending = null; // {id, text, edited, files, message}

export const unanswered = () => pending;

// Shows the prompt in the thread. Call it again if the thread was redrawn without it.
export function awaitAnswer(prompt) {
  pending = prompt;
  drawBubble(prompt);
}

export function stopAwaiting() {
  pending = null;
}

export const bubbleOf = (id) => document.getElementById(`m-${id}`);

function drawBubble({ id, text, files }) {
  const bubble = document.createElement("div");
  bubble.className = "prompt pending";
  bubble.id = `m-${id}`;
  bubble.dataset.message = id;
  bubble.innerHTML = '<h2 class="visually-hidden">You</h2><div class="bubble prose"></div>';
  bubble.lastChild.append(...files.map((name) => makeText("sent-file", name)));
  if (text) bubble.lastChild.append(makeText("typed", text));
  document.getElementById("messages").append(bubble);
}

function makeText(className, textContent) {
  return Object.assign(document.createElement("div"), { className, dir: "auto", textContent });
}
