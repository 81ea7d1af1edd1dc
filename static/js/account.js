// What this browser keeps for an account (drafts, the model last chosen) is neither shown nor left
// to whoever signs in next. The names of its keys hold a token of the account, and the key `ACCOUNT`
// says whose they are: nothing is kept while it is missing, and no other account's is while it is
// there.

const PREFIX = "chatapp:";
const ACCOUNT = "chatapp:account";
const SIGNED_OUT = "/accounts/signed-out/";
const account = document.querySelector("meta[name=account]")?.content; // the chat page alone has it

const keyOf = (name) => `${PREFIX}${account}:${name}`;

export const kept = (name) => localStorage.getItem(keyOf(name));

export function names() {
  const ours = Object.keys(localStorage).filter((key) => key.startsWith(keyOf("")));
  return ours.map((key) => key.slice(keyOf("").length));
}

// Keeps nothing once this browser was signed out, in whichever tab. No value is to forget the name.
export function keep(name, value) {
  if (localStorage.getItem(ACCOUNT) !== account) return;
  localStorage.removeItem(keyOf(name));
  try {
    if (value) localStorage.setItem(keyOf(name), value);
  } catch {
    // It is more than a browser keeps for a site.
  }
}

function forget(isKept) {
  for (const key of Object.keys(localStorage)) {
    const isOurs = key.startsWith(PREFIX) || key.startsWith("draft:") || key === "model"; // of 0.2
    if (isOurs && !isKept(key)) localStorage.removeItem(key);
  }
}

function signedIn() {
  forget((key) => key === ACCOUNT || key.startsWith(keyOf("")));
  localStorage.setItem(ACCOUNT, account);
}

// Whose the browser is now is another tab's doing: this page and what is typed here are not for who
// may look at it next.
function leave(owner) {
  if (owner === account) return;
  document.documentElement.hidden = true; // until the other page is there
  location.replace(owner ? "/" : SIGNED_OUT);
}

if (account) {
  signedIn();
  addEventListener("storage", ({ key, newValue }) => {
    if (key === ACCOUNT) leave(newValue);
  });
  // Where that was not heard, as by a page that stood still meanwhile.
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
