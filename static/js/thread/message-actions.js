// Actions on messages, loaded by static/js/page/lazy.js.

import "./message-menu.js";
import "./feedback.js";
import "./siblings.js";
import "./tokens.js";
