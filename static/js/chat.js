// The scripts that the chat page needs at first, served as one file
// (chatapp/server/middleware/bundles.py). They run in this order, each after its own imports;
// page/untrusted-html.js must run first. Others are loaded later: see page/lazy.js.

import "./page/untrusted-html.js";
import "./page/htmx-socket.js";
import "./page/state.js";
import "./account/storage.js";
import "./page/conversation.js";
import "./connection/commands.js";
import "./connection/status-line.js";
import "./connection/socket.js";
import "./connection/heartbeat.js";
import "./page/navigation.js";
import "./sidebar/conversation-list.js";
import "./composer/message-box.js";
import "./page/ids.js";
import "./files/attachments.js";
import "./files/waiting.js";
import "./files/attaching.js";
import "./composer/context-meter.js";
import "./composer/prompt.js";
import "./composer/drafts.js";
import "./composer/model-picker.js";
import "./composer/controls.js";
import "./composer/shortcuts.js";
import "./composer/slash.js";
import "./page/focus.js";
import "./thread/scrolling.js";
import "./thread/paging.js";
import "./page/announcements.js";
import "./sidebar/sidebar.js";
import "./sidebar/infinite-scroll.js";
import "./page/toast.js";
import "./page/lazy.js";
import "./page/menus.js";
import "./page/dialogs.js";
import "./page/local-times.js";
import "./search/opener.js";
