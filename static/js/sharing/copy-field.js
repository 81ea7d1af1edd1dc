// Copies the text of the field that a button names, or of all such fields, one per line.

const fieldOf = (button) => document.getElementById(button.dataset.copies);
const lineOf = ({ dataset, value }) => [dataset.for, value].filter(Boolean).join(" ");

document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copies], [data-copies-all]");
  if (!button) return;
  const isOne = "copies" in button.dataset;
  const fields = isOne ? [fieldOf(button)] : [...document.querySelectorAll("[data-copies]")].map(fieldOf);
  if (isOne) fields[0].select();
  try {
    await navigator.clipboard.writeText(isOne ? fields[0].value : fields.map(lineOf).join("\n"));
  } catch {
    if (!isOne) return void (button.textContent = "Copying needs HTTPS");
    document.execCommand("copy"); // no clipboard API without TLS
  }
  button.textContent = "Copied";
});
