// Suggestions below the text fields with `data-picker`, the address that gives them as HTML: arrow keys
// move through them, Enter or a click takes one. The field works as plain text without them.

import { SuggestionList } from "./suggestion-list.js";

const PAUSE = 120; // ms after the last key
const STEPS = { ArrowDown: 1, ArrowUp: -1 };

class Picker {
  #timer;
  #latest = 0; // the number of the last request

  constructor(input, id) {
    const list = element("ul", { id, role: "listbox", "aria-label": "Suggestions" });
    this.input = input;
    this.status = element("span", { class: "visually-hidden", "aria-live": "polite" });
    const place = element("span", { class: "picker" });
    input.before(place);
    place.append(input, list, this.status);
    set(input, { role: "combobox", "aria-autocomplete": "list", "aria-controls": id });
    this.suggestions = new SuggestionList(input, list, (option) => this.#take(option));
    input.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#look(), PAUSE);
    });
    input.addEventListener("keydown", (event) => {
      if (this.#press(event.key)) event.preventDefault();
    });
    input.addEventListener("click", () => this.suggestions.isOpen || this.#look());
    input.addEventListener("blur", () => this.#close());
  }

  // The field of a model's provider, if there is one beside it.
  get #provider() {
    return this.input.form.elements[this.input.dataset.provider];
  }

  // Returns whether the key was meant for the suggestions.
  #press(key) {
    const { isOpen, active } = this.suggestions;
    if (key in STEPS) isOpen ? this.suggestions.step(STEPS[key]) : this.#look();
    else if (!isOpen) return false;
    else if (key === "Escape") this.#close();
    else if (key === "Enter" && active) this.#take(active);
    else return false;
    return true;
  }

  async #look() {
    const number = ++this.#latest;
    const address = new URL(this.input.dataset.picker, location);
    address.searchParams.set("q", this.input.value);
    if (this.#provider) address.searchParams.set("provider", this.#provider.value);
    const answer = await fetch(address).catch(() => null);
    const html = answer?.ok && !answer.redirected ? await answer.text() : "";
    if (number !== this.#latest || document.activeElement !== this.input) return;
    this.suggestions.list.innerHTML = html;
    this.suggestions.open();
    const { length } = this.suggestions.options;
    this.status.textContent = length === 1 ? "1 suggestion" : `${length} suggestions`;
  }

  #take({ dataset }) {
    this.input.value = dataset.value;
    if (this.#provider && dataset.provider) this.#provider.value = dataset.provider;
    this.#close();
    this.input.dispatchEvent(new Event("change", { bubbles: true }));
  }

  #close() {
    clearTimeout(this.#timer);
    this.#latest++;
    this.suggestions.close();
    this.status.textContent = "";
  }
}

function element(name, attributes) {
  return set(document.createElement(name), attributes);
}

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

document.querySelectorAll("input[data-picker]").forEach((input, index) => new Picker(input, `picker-${index}`));
