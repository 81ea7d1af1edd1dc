// What people do with files in a draft, loaded by attaching.js once there are any.

import { chips, nameOf, refresh, untilDrawn } from "./attachments.js";
import "./chip-actions.js";
import "./chip-progress.js";
import "./cost.js";
import { say } from "../page/state.js";
import { beginUpload } from "./uploads.js";

const MOST_NAMES = 10; // of refused files that are listed

// Announces the files, in order, and uploads them. Resolves when they have chips, to whether all were
// taken.
export async function uploadFiles(files, arriving) {
  const refusals = new Map(); // sentence → names
  for (const file of files) {
    const [id, refusal] = await beginUpload(file, { conversation: arriving.conversation, resumed: findInterrupted(file) });
    arriving.count -= 1;
    if (!id) refusals.set(refusal, [...(refusals.get(refusal) ?? []), `“${file.name}”`]);
    refresh();
  }
  await untilDrawn();
  if (refusals.size) say([...refusals].map(([why, names]) => `${listNames(names)}: ${why}`).join(" "));
  return !refusals.size;
}

// The id of an upload of this file that no tab runs any more. The server compares the names.
function findInterrupted({ name, size }) {
  const same = chips().filter(({ dataset }) => "orphan" in dataset && dataset.size === `${size}`);
  return (same.find((chip) => nameOf(chip) === name) ?? same[0])?.dataset.file ?? "";
}

const listNames = (names) =>
  names.length > MOST_NAMES
    ? `${names.slice(0, MOST_NAMES - 1).join(", ")} and ${names.length - MOST_NAMES + 1} more`
    : names.join(", ");
