// Opens an edit again whose text would otherwise be lost, with the script that is loaded on demand.

import { fillAbove } from "./message-box.js";

export async function editAgain(prompt, text, attached) {
  const { resume } = await import("../thread/editing.js").catch(() => ({}));
  if (resume) resume(prompt, text, attached);
  else fillAbove(text);
}
