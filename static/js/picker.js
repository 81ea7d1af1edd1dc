// Suggestions below the text fields with `data-picker`, the address that gives them as HTML: arrow keys
// move through them, Enter or a click takes one. The field works as plain text without them.

const PAUSE = 120; // ms after the last key
const STEPS = { ArrowDown: 1, ArrowUp: -1 };

class Picker {
  #timer;
  #latest = 0; // the number of the last request

  constructor(input, id) {
    this.input = input;
    this.list = element("ul", { id, role: "listbox", "aria-label": "Suggestions" });
    this.status = element("span", { class: "visually-hidden", "aria-live": "polite" });
    const place = element("span", { class: "picker" });
    input.before(place);
    place.append(input, this.list, this.status);
    set(input, { role: "combobox", "aria-autocomplete": "list", "aria-controls": id });
    this.#open(false);
    this.#listen();
  }

  get #options() {
    return [...this.list.children];
  }

  get #active() {
    return this.list.querySelector("[aria-selected=true]");
  }

  // The field of a model's provider, if there is one beside it.
  get #provider() {
    return this.input.form.elements[this.input.dataset.provider];
  }

  #listen() {
    this.input.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#look(), PAUSE);
    });
    this.input.addEventListener("keydown", (event) => {
      if (this.#press(event.key)) event.preventDefault();
    });
    this.input.addEventListener("click", () => this.list.hidden && this.#look());
    this.input.addEventListener("blur", () => this.#close());
    this.list.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus
    this.list.addEventListener("click", ({ target }) => {
      const option = target.closest("[role=option]");
      if (option) this.#take(option);
    });
  }

  // Returns whether the key was meant for the suggestions.
  #press(key) {
    if (key in STEPS) this.list.hidden ? this.#look() : this.#step(STEPS[key]);
    else if (this.list.hidden) return false;
    else if (key === "Escape") this.#close();
    else if (key === "Enter" && this.#active) this.#take(this.#active);
    else return false;
    return true;
  }

  #step(by) {
    const all = this.#options;
    const from = this.#active ? all.indexOf(this.#active) : by > 0 ? -1 : 0;
    const next = all[(from + by + all.length) % all.length];
    this.#active?.setAttribute("aria-selected", "false");
    next.setAttribute("aria-selected", "true");
    next.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", next.id);
  }

  async #look() {
    const number = ++this.#latest;
    const address = new URL(this.input.dataset.picker, location);
    address.searchParams.set("q", this.input.value);
    if (this.#provider) address.searchParams.set("provider", this.#provider.value);
    const answer = await fetch(address).catch(() => null);
    const html = answer?.ok && !answer.redirected ? await answer.text() : "";
    if (number !== this.#latest || document.activeElement !== this.input) return;
    this.list.innerHTML = html;
    const found = this.#options;
    found.forEach((option, index) => (option.id = `${this.list.id}-${index}`));
    this.status.textContent = found.length === 1 ? "1 suggestion" : `${found.length} suggestions`;
    this.#open(found.length > 0);
  }

  #take({ dataset }) {
    this.input.value = dataset.value;
    if (this.#provider && dataset.provider) this.#provider.value = dataset.provider;
    this.#close();
    this.input.dispatchEvent(new Event("change", { bubbles: true }));
  }

  #open(isOpen) {
    this.list.hidden = !isOpen;
    this.input.setAttribute("aria-expanded", String(isOpen));
    this.input.removeAttribute("aria-activedescendant");
  }

  #close() {
    clearTimeout(this.#timer);
    this.#latest++;
    this.#open(false);
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
