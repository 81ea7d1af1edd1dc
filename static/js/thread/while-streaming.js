// Scripts needed while a reply streams, loaded by static/js/page/lazy.js.

import "./disclosures.js";
import "./silence.js";
import { noteEnding } from "./unseen-endings.js";

// Looks at replies that streamed when this was requested: they may have ended before it loaded.
export function noteEndings(replies) {
  for (const reply of document.querySelectorAll("#messages [data-reply]")) {
    if (replies.includes(reply.dataset.reply)) noteEnding(reply);
  }
}
