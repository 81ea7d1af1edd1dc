// Tells in one calm line that the connection is lost and when it is tried again, or why there will
// be none.

import { isStopKept } from "./commands.js";

const QUIET = 1500; // ms: a loss shorter than this is not worth a word
const SENTENCES = {
  deactivated: "This account is not active any more. What you typed stays here.",
  "too-many": "Too many of your tabs are open. Close some, then come back to this one.",
  "signed-out": "You are signed out. ",
};

let told = ""; // the connection's state
let lostAt = 0, triesAt = 0; // by performance.now()
let drawing = 0;

document.addEventListener("chat:connection", ({ detail: { state, triesIn, isSure } }) => {
  const now = performance.now();
  if (state !== told) lostAt = now;
  if (isSure) lostAt = Math.min(lostAt, now - QUIET);
  triesAt = now + triesIn;
  told = state;
  clearInterval(drawing);
  if (state === "opening") drawing = setInterval(draw, 500);
  draw();
});

document.addEventListener("chat:shown", draw); // with a line of its own, which is hidden

function draw() {
  const line = document.getElementById("connection");
  const sentence = told === "opening" ? lostSentence() : SENTENCES[told];
  line.hidden = !sentence;
  if (!sentence) return;
  if (line.firstChild?.data !== sentence) line.replaceChildren(sentence, ...after());
  if (told === "opening") line.lastChild.textContent = countdown();
}

function after() {
  if (told === "signed-out") return [signIn(), ", then come back: what you typed stays here."];
  if (told !== "opening") return [];
  const seconds = document.createElement("span");
  seconds.ariaHidden = true; // or each would be read aloud
  return [seconds];
}

function lostSentence() {
  if (performance.now() < lostAt + QUIET) return "";
  return `Connection lost.${isStopKept() ? " The reply is stopped as soon as it is back." : ""} `;
}

function countdown() {
  const seconds = Math.ceil((triesAt - performance.now()) / 1000);
  return seconds > 0 ? `Trying again in ${seconds} s…` : "Trying again…";
}

function signIn() {
  return Object.assign(document.createElement("a"), {
    href: `/accounts/login/?next=${encodeURIComponent(location.pathname)}`,
    target: "_blank",
    textContent: "Sign in in another tab",
  });
}
