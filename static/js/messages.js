// Scripts for the messages of a chat, loaded by static/js/page/lazy.js.

import "./composer/context-offers.js";
import "./thread/disclosures.js";
import "./thread/outline.js";
import "./thread/keys.js";
import "./thread/copying.js";
import "./thread/long-prompts.js";
import "./thread/moved-clicks.js";
import "./thread/drawing.js";
