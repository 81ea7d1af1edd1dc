// Runs before the page is drawn, so it is no module: it sets what this browser was told in the
// account's menu, the theme for one, which would flash otherwise; and keeps for the server how far
// the browser's clock is from UTC, so that it knows what "Yesterday" is. Keys that an input method
// takes reach no other script. And what is sent before the modules can send it waits for them: Enter
// would make a new line until then, and Send do nothing.

{
  const year = 31536000; // s
  for (const name of ["scheme", "text-size", "figures", "send-by"]) {
    const chosen = localStorage.getItem(name);
    if (chosen) document.documentElement.setAttribute(`data-${name}`, chosen);
  }
  const offset = -new Date().getTimezoneOffset();
  document.cookie = `utc-offset=${offset}; path=/; max-age=${year}; samesite=lax`;
}

// Safari ends a composition before its last key, which is told by the code 229 alone.
addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) event.stopImmediatePropagation();
}, true);

{
  let text = ""; // that is to be sent, unless it is changed meanwhile

  const box = () => document.getElementById("message");

  // As send-by.js says it.
  const sends = ({ key, ctrlKey, metaKey, shiftKey }) => {
    if (key !== "Enter") return false;
    const isTouched = matchMedia("(pointer: coarse)").matches;
    const { sendBy } = document.documentElement.dataset;
    return ctrlKey || metaKey || (!isTouched && sendBy !== "ctrl-enter" && !shiftKey);
  };

  const hold = (event) => {
    const { type, target } = event;
    if (!(type === "submit" ? target === box()?.form : target === box() && sends(event))) return;
    event.preventDefault();
    event.stopPropagation();
    text = box().value;
  };

  document.addEventListener("keydown", hold, true);
  document.addEventListener("submit", hold, true);
  document.addEventListener("DOMContentLoaded", () => setTimeout(() => {
    document.removeEventListener("keydown", hold, true);
    document.removeEventListener("submit", hold, true);
    if (text && box().value === text) box().form.requestSubmit();
  }));
}
