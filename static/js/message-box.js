// The message box: it grows with its text, a suggestion fills it, and the document is told in
// `chat:typed` of each change, by whomever.

const FINE_POINTER = matchMedia("(pointer: fine)"); // focus brings up no keyboard on the screen
const GROWS_BY_ITSELF = CSS.supports("field-sizing", "content");
const RIGHT_TO_LEFT =
  /\p{Script=Hebrew}|\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Thaana}|\p{Script=Nko}|\p{Script=Adlam}/u;

export const box = () => document.getElementById("message");
export const form = () => document.getElementById("composer");

export function fill(text) {
  box().value = text;
  box().setSelectionRange(text.length, text.length);
  changed();
}

// What was given back takes no place of what was typed meanwhile.
export function fillAbove(text) {
  if (text) fill(box().value ? `${text}\n\n${box().value}` : text);
}

// Why the text can't be sent; empty where it can. A pair of surrogates is one character, as Python
// counts.
export function tooLong() {
  const most = Number(box().dataset.mostCharacters);
  const pairs = box().value.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0;
  const length = box().value.length - pairs;
  if (length <= most) return "";
  const [has, takes] = [length, most].map((number) => number.toLocaleString("en"));
  return `This has ${has} characters, and ${takes} can be sent at once. Shorten it, or send it in parts.`;
}

export function focusBox() {
  if (FINE_POINTER.matches) box().focus({ preventScroll: true });
}

// As dir="auto" would: with that Chromium reads all lines again for each line of a long paste, ten
// seconds for 45,000 lines.
function direct() {
  const letter = box().value.match(/\p{L}/u)?.[0] ?? "";
  box().dir = RIGHT_TO_LEFT.test(letter) ? "rtl" : "ltr";
}

function changed() {
  direct();
  form().toggleAttribute("data-empty", !box().value.trim());
  if (!GROWS_BY_ITSELF) {
    box().style.height = "auto";
    box().style.height = `${box().scrollHeight}px`;
  }
  document.dispatchEvent(new Event("chat:typed"));
}

document.addEventListener("input", ({ target }) => {
  if (target === box()) changed();
});

document.addEventListener("click", ({ target }) => {
  const suggestion = target.closest?.("[data-suggestion]");
  if (!suggestion) return;
  fill(suggestion.textContent.trim());
  form().requestSubmit();
});

document.addEventListener("chat:shown", focusBox);
