// What is done by hand with conversations and projects: static/js/when-wanted.js fetches it.

import "./keeping.js";
import "./renaming.js";
import "./selecting.js";
import "./conversation-menu.js";
import "./dragging.js";
import "./answers.js";
import "./temporary.js";
