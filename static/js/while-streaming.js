// What is done while a reply streams: static/js/when-wanted.js fetches it.

import "./silence.js";
import { look } from "./unseen-endings.js";

// At replies that streamed when this was asked for: they may have ended before it came.
export function lookAt(replies) {
  for (const reply of document.querySelectorAll("#messages [data-reply]")) {
    if (replies.includes(reply.dataset.reply)) look(reply);
  }
}
