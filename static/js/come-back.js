// The page of a database that is away: asks every few seconds whether it is back, and only then loads
// anew, so that nothing moves under whoever reads or is read to.

const { retryAfter } = document.querySelector("script[data-retry-after]").dataset;

async function look() {
  const { status } = await fetch(location.href).catch(() => ({ status: 503 }));
  if (status !== 503) location.replace(location.href); // and never a form sent once more
}

setInterval(look, retryAfter * 1000);
