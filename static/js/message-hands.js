// What is done by hand at a message: static/js/when-wanted.js fetches it.

import "./message-menu.js";
import "./feedback.js";
import "./siblings.js";
import "./tokens.js";
