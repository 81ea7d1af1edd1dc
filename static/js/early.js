// Runs before the page is drawn, so it is no module: it sets what this browser was told in the
// account's menu, the theme for one, which would flash otherwise; and keeps for the server how far
// the browser's clock is from UTC, so that it knows what "Yesterday" is.

{
  const year = 31536000; // s
  for (const name of ["scheme", "text-size", "figures", "send-by"]) {
    const chosen = localStorage.getItem(name);
    if (chosen) document.documentElement.setAttribute(`data-${name}`, chosen);
  }
  const offset = -new Date().getTimezoneOffset();
  document.cookie = `utc-offset=${offset}; path=/; max-age=${year}; samesite=lax`;
}
