// The message box: grows with its text, is filled by suggestions, and fires `chat:typed` on the
// document at each change, also by scripts.

const FINE_POINTER = matchMedia("(pointer: fine)"); // focusing opens no on-screen keyboard
export const GROWS_BY_ITSELF = CSS.supports("field-sizing", "content");
const RIGHT_TO_LEFT =
  /\p{Script=Hebrew}|\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Thaana}|\p{Script=Nko}|\p{Script=Adlam}/u;

export const box = () => document.getElementById("message");
export const form = () => document.getElementById("composer");

export const isEmpty = () => !box().value.trim() && !form().elements.attached.value;
export const joinParagraphs = (...parts) => parts.filter(Boolean).join("\n\n");

export function fill(text) {
  box().value = text;
  box().setSelectionRange(text.length, text.length);
  announceTyping();
}

// Returned text goes above what was typed meanwhile.
export function fillAbove(text) {
  if (text) fill(joinParagraphs(text, box().value));
}

// Counts a surrogate pair as one character, as Python does.
const charactersIn = (text) =>
  text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);

// Like toLocaleString("en"), whose first call is slower than everything else here.
export const groupDigits = (number) => `${number}`.replace(/\B(?=(\d{3})+$)/g, ",");

// Why the text is too long to be sent, or an empty string.
export function tooLong(text = box().value) {
  const most = Number(box().dataset.mostCharacters);
  const length = charactersIn(text);
  if (length <= most) return "";
  const [has, takes] = [length, most].map(groupDigits);
  return `This message has ${has} characters; the limit is ${takes}. Shorten it, or send it in parts.`;
}

export function focusBox() {
  if (document.querySelector(".renaming")) return; // a double click also opens the chat, a moment later
  if (FINE_POINTER.matches) box().focus({ preventScroll: true });
}

// Like dir="auto", with which Chromium is quadratic in the lines of a long paste: ten seconds for
// 45,000 lines.
function direct() {
  const letter = box().value.match(/\p{L}/u)?.[0] ?? "";
  box().dir = RIGHT_TO_LEFT.test(letter) ? "rtl" : "ltr";
}

function announceTyping() {
  direct();
  form().toggleAttribute("data-empty", isEmpty());
  if (!GROWS_BY_ITSELF) {
    box().style.height = "auto";
    box().style.height = `${box().scrollHeight}px`;
  }
  document.dispatchEvent(new Event("chat:typed"));
}

document.addEventListener("input", ({ target }) => {
  if (target === box()) announceTyping();
});

document.addEventListener("click", ({ target }) => {
  const suggestion = target.closest?.("[data-suggestion]");
  if (!suggestion) return;
  fill(suggestion.textContent.trim());
  form().requestSubmit();
});

document.addEventListener("chat:shown", focusBox);
