// Lets the suggestions of a field with `data-several` complete the last of several names, after a comma.

document.addEventListener("input", ({ target }) => {
  if (!target.matches?.("input[data-several]")) return;
  const before = target.value.includes(",") ? target.value.replace(/,[^,]*$/, ", ") : "";
  for (const option of target.list.options) {
    option.dataset.name ??= option.value;
    option.value = before + option.dataset.name;
  }
});
