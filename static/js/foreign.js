// Foreign text: what a person, a model or a tool wrote. It stands in elements with `hx-ignore`, and
// what is below those acts on nothing. The server's cleaner sees to that; this is a second lock,
// which does not rely on it.
//
// Under `hx-ignore` htmx 4.0.1 makes no request, boosts no link and runs no `hx-on`, but it still
// obeys hx-ws:send, hx-ws:connect, hx-preserve and hx-swap-oob there. So an element of foreign text
// keeps the attributes that rendered text may have, which the server names for each tag, and loses
// all others before htmx or a script of ours can see them. Only frames may swap out of band; theirs
// hold the text in a template, where htmx does not look for more of them.

import { dropSwapsOutOfBand, swapsOf } from "./htmx-socket.js";

// Behind a selector of ours: a class or attribute of ours says nothing in foreign text.
export const OURS = ":not([hx-ignore] *)";

const LISTED = Object.fromEntries(
  document.querySelector("meta[name=foreign-attributes]").content.split(",").map((entry) => {
    const [tag, ...names] = entry.split(" ");
    return [tag, names];
  }),
);

disarm(document);

document.addEventListener("htmx:before:swap", (event) => {
  if (event.target.id !== "app") dropSwapsOutOfBand(event);
  for (const swap of swapsOf(event)) disarm(swap.fragment, isWithinForeign(swap));
});

// What takes an element's own place is as foreign as what is around it: `#problem` is ours, its text
// is not.
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
