// Actions on conversations and projects, loaded by static/js/page/lazy.js.

import "./conversation-actions.js";
import "./renaming.js";
import "./selecting.js";
import "./conversation-menu.js";
import "../exports/dialog.js";
import "./dragging.js";
import "../page/fetched-forms.js";
