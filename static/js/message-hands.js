// Actions on messages, loaded by static/js/when-wanted.js.

import "./message-menu.js";
import "./feedback.js";
import "./siblings.js";
import "./tokens.js";
