// The list of suggestions below a combobox: open or closed, with one of its options active or none.

export class SuggestionList {
  // Calls `take` with an option that is clicked.
  constructor(input, list, take) {
    this.input = input;
    this.list = list;
    // The pointer must not take the focus from the field before the option is clicked.
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", ({ target }) => {
      const option = target.closest("[role=option]");
      if (option) take(option);
    });
    this.close();
  }

  get isOpen() {
    return !this.list.hidden;
  }

  get options() {
    return [...this.list.children];
  }

  get active() {
    return this.list.querySelector("[aria-selected=true]");
  }

  // Shows the options that are in the list now.
  open() {
    this.options.forEach((option, number) => (option.id = `${this.list.id}-${number}`));
    this.#show(this.options.length > 0);
  }

  close() {
    this.#show(false);
  }

  step(by) {
    const all = this.options;
    const from = this.active ? all.indexOf(this.active) : by > 0 ? -1 : 0;
    this.activate(all[(from + by + all.length) % all.length]);
  }

  activate(option) {
    this.options.forEach((one) => one.setAttribute("aria-selected", String(one === option)));
    option?.scrollIntoView({ block: "nearest" });
    if (option) this.input.setAttribute("aria-activedescendant", option.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  #show(isShown) {
    this.list.hidden = !isShown;
    this.input.setAttribute("aria-expanded", String(isShown));
    this.activate(null);
  }
}
