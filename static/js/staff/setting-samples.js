// Previews the accent colour and the message of the day while they are edited.

for (const sample of document.querySelectorAll("[data-sample]")) {
  const field = document.getElementById(sample.dataset.sample);
  const draw = () => sample.style.setProperty("border-color", field.value);
  field.addEventListener("input", draw);
  draw();
}

for (const preview of document.querySelectorAll("[data-preview]")) {
  const field = document.getElementById(preview.dataset.preview);
  const draw = () => {
    preview.textContent = field.value;
    preview.hidden = !field.value.trim();
  };
  field.addEventListener("input", draw);
  draw();
}
