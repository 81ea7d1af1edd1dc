// The description of an image, which its owner writes in the viewer and which is then its alternative text.

const NOT_SAVED = "The description could not be saved. Try again in a moment.";

const say = (details, text) => { details.nextElementSibling.textContent = text; };

// Offers the form for the image of a link, unless it is not a file of one's own.
export function showDescription(details, link) {
  const { alt } = link.dataset;
  details.hidden = alt === undefined;
  details.open = false;
  details.querySelector("[name=alt]").value = alt ?? "";
  say(details, "");
}

export async function saveDescription(event, link) {
  event.preventDefault();
  const form = event.target;
  const details = form.closest("details");
  const sent = { method: "POST", body: new FormData(form), redirect: "error" };
  const answer = await fetch(new URL("../describe/", link.href), sent).catch(() => null);
  if (!answer?.ok) return say(details, answer?.status === 422 ? await answer.text() : NOT_SAVED);
  link.dataset.alt = form.alt.value;
  link.firstElementChild.alt = form.alt.value || link.title;
  say(details, "Saved.");
}
