// Runs before the page is drawn, so it is not a module. It applies the settings from the preferences,
// such as the theme, which would otherwise flash, and stores the browser's offset from UTC in a cookie,
// so that the server knows what "Yesterday" is. It hides keys used by an input method from the other
// scripts. And it holds a prompt sent before the modules have loaded: until then, Enter would insert a
// new line and Send would do nothing.

{
  const year = 31536000; // s
  const apply = () => {
    for (const name of ["scheme", "text-size", "figures", "send-by"]) {
      const chosen = localStorage.getItem(name);
      if (chosen) document.documentElement.setAttribute(`data-${name}`, chosen);
      else document.documentElement.removeAttribute(`data-${name}`);
    }
  };
  apply();
  addEventListener("storage", apply); // chosen in another tab
  const offset = -new Date().getTimezoneOffset();
  document.cookie = `utc-offset=${offset}; path=/; max-age=${year}; samesite=lax`;
}

// Safari ends a composition before its last keydown, which only the key code 229 identifies.
addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) event.stopImmediatePropagation();
}, true);

{
  let text = ""; // to be sent, unless it is changed meanwhile

  const box = () => document.getElementById("message");

  // The same rule as in composer/shortcuts.js.
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
