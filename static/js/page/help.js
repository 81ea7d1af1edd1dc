// The search of a help page: shows only the sections that contain all the words, and their entries in
// the contents.

const box = document.getElementById("help-search");
const none = document.getElementById("help-none");
const sections = [...document.querySelectorAll("section")];
const entryOf = ({ firstElementChild: { id } }) =>
  document.querySelector(`nav a[href="#${id}"]`).parentElement;

function search() {
  const words = box.value.toLowerCase().split(/\s+/);
  for (const section of sections) {
    const text = section.textContent.toLowerCase();
    section.hidden = entryOf(section).hidden = !words.every((word) => text.includes(word));
  }
  none.hidden = sections.some(({ hidden }) => !hidden);
}

box.addEventListener("input", search);
if (box.value) search(); // typed before this script was loaded
