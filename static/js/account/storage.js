// Per-account storage in this browser (drafts, the last chosen model), never shown or left to the
// next person who signs in. Key names contain a token of the account. The key `ACCOUNT` holds the
// token of the signed-in account: without it nothing is stored, and with it only that account's data.

const PREFIX = "chatapp:";
const ACCOUNT = "chatapp:account";
const SIGNED_OUT = "/accounts/signed-out/";
const account = document.querySelector("meta[name=account]")?.content; // only the chat page has it

const keyOf = (name) => `${PREFIX}${account}:${name}`;

export const readKept = (name) => localStorage.getItem(keyOf(name));

export function names() {
  const ours = Object.keys(localStorage).filter((key) => key.startsWith(keyOf("")));
  return ours.map((key) => key.slice(keyOf("").length));
}

// Stores nothing once any tab has signed out. An empty value deletes the entry.
export function keep(name, value) {
  if (localStorage.getItem(ACCOUNT) !== account) return;
  localStorage.removeItem(keyOf(name));
  try {
    if (value) localStorage.setItem(keyOf(name), value);
  } catch {
    // The browser's quota for this site is used up.
  }
}

function forget(isKept) {
  for (const key of Object.keys(localStorage)) {
    const isOurs = key.startsWith(PREFIX) || key.startsWith("draft:") || key === "model"; // keys of version 0.2
    if (isOurs && !isKept(key)) localStorage.removeItem(key);
  }
}

function signedIn() {
  forget((key) => key === ACCOUNT || key.startsWith(keyOf("")));
  localStorage.setItem(ACCOUNT, account);
}

// Another tab has signed out or in as someone else: hide this page and its drafts from the next
// person.
function leave(owner) {
  if (owner === account) return;
  document.documentElement.hidden = true; // until the other page has loaded
  location.replace(owner ? "/" : SIGNED_OUT);
}

if (account) {
  signedIn();
  addEventListener("storage", ({ key, newValue }) => {
    if (key === ACCOUNT) leave(newValue);
  });
  // A page in the back/forward cache has missed the event.
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) leave(localStorage.getItem(ACCOUNT));
  });
  document.addEventListener("chat:connection", ({ target }) => {
    const { connection } = target.getElementById("app").dataset;
    if (connection === "signed-out") leave(localStorage.getItem(ACCOUNT));
  });
}

function forgetAll() {
  forget(() => false);
  sessionStorage.clear();
}

if (document.querySelector("meta[name=signed-out]")) {
  forgetAll();
  addEventListener("storage", ({ key, newValue }) => {
    if (key === ACCOUNT && newValue) location.replace("/");
  });
}

document.addEventListener("submit", ({ target }) => {
  if (target.matches("[data-sign-out]")) forgetAll();
});
