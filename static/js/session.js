// Whether the person is still signed in here, asked of the server by the list of conversations;
// undefined where it does not answer.

export async function isSignedIn() {
  const list = document.getElementById("lists").getAttribute("hx-get");
  const answer = await fetch(list, { redirect: "manual" }).catch(() => null);
  if (answer?.ok) return true;
  if (answer?.type === "opaqueredirect") return false;
}
