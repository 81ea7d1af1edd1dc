// Copies a whole chat or one message as Markdown.

import { fetchText, write } from "./copying.js";
import { tell } from "../page/toast.js";

const FAILED = "The text couldn't be copied. Try again in a moment, or export it.";

// The text is a promise: Safari wants to be asked at once and would not wait for a fetch.
export async function copyMarkdown(address) {
  const copied = write({ "text/plain": fetchText(address) });
  tell(await copied.then(() => "Copied as Markdown.", () => FAILED));
}
