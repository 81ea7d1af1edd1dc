// Asks the server whether the person is still signed in, by requesting the list of conversations.
// Undefined if it does not answer.

export async function isSignedIn() {
  const list = document.getElementById("lists").getAttribute("hx-get");
  const answer = await fetch(list, { redirect: "manual" }).catch(() => null);
  if (answer?.ok) return true;
  if (answer?.type === "opaqueredirect") return false;
}
