// The dialog that exports chats: one from its menu, those selected, or a project's. A small export is a
// download, for which the form is posted by the browser itself; a large one is made in the background.

import { fetchDialog } from "../page/fetched-dialogs.js";
import { tell } from "../page/toast.js";
import { OURS } from "../page/untrusted-html.js";

const FAILED = "The export couldn't be started. Try again in a moment.";

// `fields` of the form say what is exported: pairs of name and value. `chat` is the address of a single one.
export async function openExport(fields, chat = "") {
  document.getElementById("export")?.remove();
  const address = `${document.getElementById("selection").getAttribute("action")}new/`;
  const dialog = await fetchDialog(chat ? `${address}?single` : address, "export").catch(() => null);
  if (!dialog) return tell(FAILED);
  const form = dialog.querySelector("form");
  const inputs = fields.map(([name, value]) => ({ type: "hidden", name, value }));
  form.append(...inputs.map((one) => Object.assign(document.createElement("input"), one)));
  const prints = dialog.querySelector("[data-prints]");
  if (prints) prints.href = `${chat}print/`;
  form.addEventListener("submit", (event) => start(event, dialog));
  dialog.addEventListener("close", focusAgain);
  dialog.showModal();
}

// Chromium gives the focus back to the message box, but keeps a selection that a click in the dialog made,
// so that nothing could be typed.
function focusAgain() {
  const { activeElement: focused } = document;
  focused.blur();
  focused.focus({ preventScroll: true });
}

async function start(event, dialog) {
  event.preventDefault();
  const form = event.target;
  const headers = { "HX-Request": "true" };
  const options = { method: "POST", body: new FormData(form), headers, redirect: "manual" };
  const answer = await fetch(form.action, options).catch(() => null);
  if (answer?.status === 204) {
    dialog.close();
    form.submit();
  } else if (answer?.status === 201) {
    form.hidden = true;
    dialog.querySelector("[data-begun]").hidden = false;
  } else {
    const line = form.querySelector(".problem");
    line.textContent = [404, 422, 429].includes(answer?.status) ? await answer.text() : FAILED;
    line.hidden = false;
  }
}

document.addEventListener("click", ({ target }) => {
  const opens = target.closest?.(`[data-export-project]${OURS}`);
  if (!opens) return;
  opens.closest("dialog")?.close();
  openExport([["project", opens.dataset.exportProject]]);
});
