// What people do with files in a draft, loaded once there are any.

import { drawn, refresh } from "./attachments.js";
import "./chip-actions.js";
import "./chip-announcements.js";
import "./file-texts.js";
import "./files-cost.js";
import { say } from "./page.js";
import "./upload-chips.js";
import { begin } from "./uploads.js";

// Announces the files, in order, and uploads them. Resolves when they have chips, to whether all were
// taken.
export async function upload(files, arriving) {
  const refusals = new Map(); // sentence → names
  for (const file of files) {
    const [id, refusal] = await begin(file, arriving.conversation);
    arriving.count -= 1;
    if (!id) refusals.set(refusal, [...(refusals.get(refusal) ?? []), `“${file.name}”`]);
    refresh();
  }
  await drawn();
  if (refusals.size) say([...refusals].map(([why, names]) => `${listed(names)}: ${why}`).join(" "));
  return !refusals.size;
}

const listed = (names) =>
  names.length > 3 ? `${names.slice(0, 2).join(", ")} and ${names.length - 2} more` : names.join(", ");
