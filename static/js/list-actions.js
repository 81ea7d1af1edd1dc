// Actions on conversations and projects, loaded by static/js/lazy.js.

import "./conversation-actions.js";
import "./renaming.js";
import "./selecting.js";
import "./conversation-menu.js";
import "./exporting.js";
import "./dragging.js";
import "./answers.js";
import "./temporary.js";
