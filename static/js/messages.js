// Scripts for the messages of a chat, loaded by static/js/messages-loader.js.

import "./context-offers.js";
import "./reasoning.js";
import "./outline.js";
import "./thread-keys.js";
import "./copying.js";
import "./long-prompts.js";
import "./drawing-pace.js";
