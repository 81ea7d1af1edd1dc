// Suggestions below the text fields with `data-picker`, the address that gives them as HTML: arrow keys
// move through them, Enter or a click takes one. The field works as plain text without them.

const PAUSE = 120; // ms after the last key

let count = 0; // of pickers on this page

for (const input of document.querySelectorAll("input[data-picker]")) makePicker(input);

function makePicker(input) {
  const list = document.createElement("ul");
  const status = document.createElement("span");
  const place = document.createElement("span");
  let timer, latest = 0; // the number of the last request

  list.id = `picker-${++count}`;
  list.role = "listbox";
  list.hidden = true;
  list.ariaLabel = "Suggestions";
  status.ariaLive = "polite";
  status.className = "visually-hidden";
  place.className = "picker";
  input.before(place);
  place.append(input, list, status);
  input.role = "combobox";
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-controls", list.id);
  input.setAttribute("aria-expanded", "false");

  const options = () => [...list.children];
  const active = () => list.querySelector("[aria-selected=true]");

  function open(isOpen) {
    list.hidden = !isOpen;
    input.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) input.removeAttribute("aria-activedescendant");
  }

  function close() {
    clearTimeout(timer);
    latest++;
    open(false);
  }

  function activate(option) {
    active()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
  }

  async function look() {
    const number = ++latest;
    const address = new URL(input.dataset.picker, location);
    address.searchParams.set("q", input.value);
    const provider = input.form.elements[input.dataset.provider];
    if (provider) address.searchParams.set("provider", provider.value);
    const answer = await fetch(address).catch(() => null);
    const html = answer?.ok && !answer.redirected ? await answer.text() : "";
    if (number !== latest || document.activeElement !== input) return;
    list.innerHTML = html;
    options().forEach((option, index) => (option.id = `${list.id}-${index}`));
    const found = options().length;
    status.textContent = found ? `${found} suggestion${found === 1 ? "" : "s"}` : "No suggestions";
    open(found > 0);
  }

  function take({ dataset }) {
    input.value = dataset.value;
    const provider = dataset.provider && input.form.elements[input.dataset.provider];
    if (provider) provider.value = dataset.provider;
    close();
    status.textContent = "";
    input.dispatchEvent(new Event("change", { bubbles: true }));
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, PAUSE);
  });

  input.addEventListener("keydown", (event) => {
    const all = options();
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (list.hidden) look();
      else {
        const step = event.key === "ArrowDown" ? 1 : -1;
        const from = active() ? all.indexOf(active()) : step === 1 ? -1 : 0;
        activate(all[(from + step + all.length) % all.length]);
      }
    } else if (event.key === "Enter" && !list.hidden && active()) take(active());
    else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
  });

  input.addEventListener("click", () => list.hidden && look());
  input.addEventListener("blur", close);
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
  list.addEventListener("click", ({ target }) => {
    const option = target.closest("[role=option]");
    if (option) take(option);
  });
}
