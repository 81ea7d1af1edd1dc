// The page shown while the database can't be reached: checks every few seconds whether it is back and
// only then reloads, so that readers and screen readers are not disturbed.

const { retryAfter } = document.querySelector("script[data-retry-after]").dataset;

async function poll() {
  const { status } = await fetch(location.href).catch(() => ({ status: 503 }));
  if (status !== 503) location.replace(location.href); // never submits a form again
}

setInterval(poll, retryAfter * 1000);
