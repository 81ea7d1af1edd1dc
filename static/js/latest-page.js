// Of two pages that were asked for, the one that was asked for last is shown, whichever comes last:
// who has clicked on another conversation, or went back, does not want the one before any more.

let latest = null; // the request for what main is to show

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (ctx.target?.id === "main") latest = ctx;
});

for (const type of ["htmx:before:response", "htmx:before:swap"]) {
  document.addEventListener(type, (event) => {
    const { ctx } = event.detail;
    if (latest && ctx?.target?.id === "main" && ctx !== latest) event.preventDefault();
  });
}
