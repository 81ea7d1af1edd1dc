// Makes untrusted HTML inert: what a person, a model or a tool wrote. It is inside elements with
// `hx-ignore`, and nothing below those may trigger anything. The server's sanitizer ensures that; this
// is a second line of defence, which does not rely on it.
//
// Under `hx-ignore` htmx 4.0.1 makes no request, boosts no link and runs no `hx-on`, but it still
// obeys hx-ws:send, hx-ws:connect, hx-preserve and hx-swap-oob there. So elements in untrusted text
// keep only the attributes that rendered text may have, which the server lists for each tag; all others
// are removed before htmx or our scripts can see them. Only frames may swap out of band; their text is
// in a template, where htmx does not look for further swaps.

import { removeSwapsOutOfBand, swapsOf } from "./htmx-socket.js";

// Appended to our selectors: our classes and attributes mean nothing in untrusted text.
export const OURS = ":not([hx-ignore] *)";

const LISTED = Object.fromEntries(
  document.querySelector("meta[name=allowed-attributes]").content.split(",").map((entry) => {
    const [tag, ...names] = entry.split(" ");
    return [tag, names];
  }),
);

disarm(document);

document.addEventListener("htmx:before:swap", (event) => {
  if (event.target.id !== "app") removeSwapsOutOfBand(event);
  for (const swap of swapsOf(event)) disarm(swap.fragment, isWithinForeign(swap));
});

// What replaces an element itself is as untrusted as its surroundings: `#problem` is ours, its text is
// not.
function isWithinForeign({ target, isOuter }) {
  const around = isOuter ? target?.parentElement : target;
  return Boolean(around?.closest?.("[hx-ignore]"));
}

function disarm(root, isForeign = false) {
  for (const element of root.querySelectorAll(isForeign ? "*" : "[hx-ignore] *")) strip(element);
  for (const template of root.querySelectorAll("template")) {
    disarm(template.content, isForeign || template.closest("[hx-ignore]"));
  }
}

function strip(element) {
  const listed = LISTED[element.localName] ?? [];
  for (const { name } of [...element.attributes]) {
    if (!listed.includes(name)) element.removeAttribute(name);
  }
}
