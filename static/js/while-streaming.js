// What is done while a reply streams: static/js/when-wanted.js fetches it.

import "./silence.js";
import "./unseen-endings.js";
