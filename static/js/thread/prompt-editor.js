// The form in which a prompt is edited, in the prompt's place. htmx sends it as it does the message box:
// with an id from composer/prompt.js, to the models that are selected.

import { listFiles } from "./editor-files.js";
import { takesMessages } from "../page/htmx-socket.js";
import { tooLong } from "../composer/message-box.js";
import { isStreaming, say } from "../page/state.js";
import { unanswered } from "../composer/pending-prompt.js";
import { OURS } from "../page/untrusted-html.js";

const EDITOR = `<form class="editor" hx-ws:send hx-include="#model, #others input">
<input type="hidden" name="action" value="edit"><input type="hidden" name="edited">
<input type="hidden" name="attached"><ul class="kept-files" role="list" aria-label="Attached files"></ul>
<textarea name="message" rows="3" aria-label="Edit prompt" autocomplete="off"></textarea>
<div>
  <button type="button" class="text-button" title="Cancel (Escape)">Cancel</button>
  <button class="button">Save</button>
</div>
</form>`;

export const editor = () => document.querySelector(`.editor${OURS}`);
export const field = () => editor()?.elements.message;

export function draw(place, prompt, text, attached) {
  place.insertAdjacentHTML("beforeend", EDITOR);
  htmx.process(editor());
  editor().elements.edited.value = prompt;
  listFiles(editor(), place, attached);
  field().value = text; // with the caret at its end
}

document.addEventListener("submit", (event) => {
  if (event.target !== editor()) return;
  const text = field().value;
  const hasContent = text.trim() || editor().elements.attached.value;
  const isReady = hasContent && !isStreaming() && !unanswered() && takesMessages();
  if (isReady && !tooLong(text)) return;
  if (isReady) say(tooLong(text));
  else if (isStreaming()) say("A reply is still being written. Wait for its end or stop it, then save.");
  event.preventDefault();
  event.stopPropagation();
}, true);
