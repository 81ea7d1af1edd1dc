// Coming times in the browser's time zone: "tomorrow at 09:00" for a limit that resets at 00:00 (UTC).

const DAY_MS = 24 * 60 * 60 * 1000;

showIn(document);

document.addEventListener("htmx:after:settle", ({ target }) => {
  if (["problem", "limit-note"].includes(target.id)) showIn(target);
});

function showIn(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    time.textContent = inWords(new Date(time.dateTime), new Date());
  }
}

function inWords(moment, now) {
  const days = Math.round((midnightOf(moment) - midnightOf(now)) / DAY_MS);
  const date = moment.toLocaleDateString("en-GB", { day: "numeric", month: "long" });
  const time = moment.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return `${["today", "tomorrow"][days] ?? `on ${date}`} at ${time}`;
}

function midnightOf(moment) {
  return new Date(moment.getFullYear(), moment.getMonth(), moment.getDate());
}
