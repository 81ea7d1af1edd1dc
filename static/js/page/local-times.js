// Times in the browser's time zone: "tomorrow at 09:00" for a limit that resets at 00:00 (UTC).

const DAY_MS = 24 * 60 * 60 * 1000;
const NAMED_DAYS = { "-1": "yesterday", 0: "today", 1: "tomorrow" };

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
  const isThisYear = moment.getFullYear() === now.getFullYear();
  const year = isThisYear ? undefined : "numeric";
  const date = moment.toLocaleDateString("en-GB", { day: "numeric", month: "long", year });
  const time = moment.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return `${NAMED_DAYS[days] ?? `on ${date}`} at ${time}`;
}

function midnightOf(moment) {
  return new Date(moment.getFullYear(), moment.getMonth(), moment.getDate());
}
