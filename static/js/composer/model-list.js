// The entries of the model list: made from a select's options, filtered by a query.

// A select's options as {value, group, text, about}; only those whose dataset is fit.
export function entriesOf(select, isFit = () => true) {
  return [...select.options].filter(({ value, dataset }) => value && isFit(dataset)).map((option) => {
    const { value, text, dataset } = option;
    const group = option.closest("optgroup")?.label ?? "";
    const id = value.slice(value.indexOf("/") + 1);
    const about = [id === text ? "" : id, dataset.about].filter(Boolean).join(" · ");
    return { value, group, text, about };
  });
}

export function setIn(select, value) {
  select.value = value;
  for (const type of ["input", "change"]) select.dispatchEvent(new Event(type, { bubbles: true }));
}

// Sets it to the first option that matches.
export function setFirst(select, query) {
  const [first] = matching(entriesOf(select), query);
  if (first) setIn(select, first.value);
}

// The entries with those chosen on top, in a group of their own.
export function chosenFirst(entries, chosen) {
  const [first, rest] = [true, false].map((is) => entries.filter(({ value }) => chosen.includes(value) === is));
  return [...first.map((entry) => ({ ...entry, group: "Chosen" })), ...rest];
}

// The entries that contain every word of the query; "gpt4" finds "GPT-4" too.
export function matching(entries, query) {
  const queryWords = foldCase(query).split(/\s+/).filter(Boolean);
  if (!queryWords.length) return entries;
  return entries.filter((entry) => {
    const words = (entry.words ??= wordsOf(entry));
    return queryWords.every((word) => words.includes(word));
  });
}

function wordsOf({ group, text, about }) {
  const words = foldCase(`${group} ${text} ${about}`);
  return `${words} ${dropPunctuation(words)}`;
}

const foldCase = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const dropPunctuation = (text) => text.replace(/[^\p{L}\p{N}\s]+/gu, "");
