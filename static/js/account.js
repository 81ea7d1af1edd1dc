// What this browser keeps for an account (drafts, the model last chosen) is neither shown nor left
// to whoever signs in next. The names of its keys hold a token of the account, and the key `ACCOUNT`
// says whose they are: nothing is kept while it is missing, and no other account's is while it is
// there.

const PREFIX = "chatapp:";
const ACCOUNT = "chatapp:account";
const account = document.querySelector("meta[name=account]")?.content; // the chat page alone has it

function forget(isKept) {
  for (const key of Object.keys(localStorage)) {
    const isOurs = key.startsWith(PREFIX) || key.startsWith("draft:") || key === "model"; // of 0.2
    if (isOurs && !isKept(key)) localStorage.removeItem(key);
  }
}

function signedIn() {
  forget((key) => key.startsWith(`${PREFIX}${account}:`));
  localStorage.setItem(ACCOUNT, account);
}

if (account) {
  signedIn();
  // Somebody else has signed in, in another tab: this page and what is typed here are not theirs.
  addEventListener("storage", ({ key, newValue }) => {
    if (key === ACCOUNT && newValue && newValue !== account) location.replace("/");
  });
}

if (document.querySelector("meta[name=signed-out]")) forget(() => false);

document.addEventListener("submit", ({ target }) => {
  if (target.matches("[data-sign-out]")) forget(() => false);
});
