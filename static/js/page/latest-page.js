// Shows the page that was requested last, even if an earlier response arrives after it: after another
// click, or Back, the earlier page is no longer wanted.

let latest = null; // the latest request for the content of main

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (ctx.target?.id === "main") latest = ctx;
});

for (const type of ["htmx:before:response", "htmx:before:swap"]) {
  document.addEventListener(type, (event) => {
    const { ctx } = event.detail;
    if (latest && ctx?.target?.id === "main" && ctx !== latest) event.preventDefault();
  });
}
