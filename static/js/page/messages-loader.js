// Loads the scripts and styles of messages, which an empty chat does not need at first: with its first
// message, or at the first sign of a person, who may open something that has the same styles.

const AGAIN = 3000; // ms until the next try

const styles = document.getElementById("messages-styles"); // enabled if the page came with messages
let areComing = false;

function load() {
  if (areComing) return;
  areComing = true;
  styles.disabled = false;
  import("../messages.js").catch(tryAgain);
}

function tryAgain() {
  setTimeout(() => {
    areComing = false;
    load();
  }, AGAIN);
}

styles.addEventListener("error", () => {
  styles.disabled = true; // or it would not be requested again
  tryAgain();
});

// Not "pointerover", which the browser also fires when a page appears below a pointer at rest.
for (const type of ["pointermove", "pointerdown", "keydown", "input"]) {
  document.addEventListener(type, ({ isTrusted }) => isTrusted && load(), true);
}

for (const type of ["chat:shown", "htmx:after:settle"]) {
  document.addEventListener(type, () => document.querySelector("#messages > *") && load());
}
