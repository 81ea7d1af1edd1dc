// Sends a file in parts, each with its offset, so that an upload goes on where it stopped.

import { ask } from "./requests.js";

// Sends what is left of a file: `upload` has the file, the size of a part and how much was received.
// Returns a sentence if it can't be sent: one of those given, or the server's.
export async function sendParts(url, upload, { signal, progress, unreadable, removed, failed }) {
  const { file, part } = upload;
  while (upload.received < file.size) {
    const body = await file.slice(upload.received, upload.received + part).arrayBuffer().catch(() => null);
    if (!body) return unreadable;
    const headers = { "Upload-Offset": upload.received, "Content-Type": "application/octet-stream" };
    const answer = await ask(url, "PATCH", body, { headers, signal });
    if (answer.status === 404) return removed;
    if (![200, 409].includes(answer.status)) return answer.status === 507 ? answer.text() : failed;
    upload.received = (await answer.json()).received;
    progress();
  }
  return "";
}
