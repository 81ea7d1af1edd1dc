// Restores the focus and scroll position of a review page after a form was submitted.

const KEY = "review-place";

/** Returns a selector for the same control or message on the next page. */
function nameOf(at) {
  const message = at.closest(".review-message");
  if (message) return `#${message.id}`;
  if (at.dataset.key) return `[data-key="${at.dataset.key}"]`;
  const section = at.closest("aside section")?.getAttribute("aria-labelledby");
  return section && `[aria-labelledby="${section}"] [type=submit]`;
}

document.querySelector(".reviewing > aside").addEventListener("submit", () => {
  const place = { at: nameOf(document.activeElement), y: scrollY };
  sessionStorage.setItem(KEY, JSON.stringify({ path: location.pathname, ...place }));
});

function comeBack({ path, at, y }) {
  // After a refused action, the messages at the top should be seen.
  if (path !== location.pathname || document.querySelector("main > .messages")) return;
  if (at) document.querySelector(at)?.focus({ preventScroll: true });
  scrollTo({ top: y, behavior: "instant" });
}

const left = sessionStorage.getItem(KEY);
sessionStorage.removeItem(KEY);
if (left) comeBack(JSON.parse(left));
