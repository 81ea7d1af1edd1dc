// Shows in one line that the connection is lost and when the next try is, or why there will be none.

import { isStopKept } from "./commands.js";

const QUIET = 1500; // ms: a shorter loss is not shown
const SENTENCES = {
  deactivated: "This account is no longer active. What you typed stays here.",
  "too-many": "You have too many tabs open. Close some, then come back to this one.",
  "signed-out": "You are signed out. ",
};

let current = ""; // the connection's state
let lostAt = 0, triesAt = 0; // by performance.now()
let drawing = 0;

document.addEventListener("chat:connection", ({ detail: { state, triesIn, isSure } }) => {
  const now = performance.now();
  if (state !== current) lostAt = now;
  if (isSure) lostAt = Math.min(lostAt, now - QUIET);
  triesAt = now + triesIn;
  current = state;
  clearInterval(drawing);
  if (state === "opening") drawing = setInterval(draw, 500);
  draw();
});

document.addEventListener("chat:shown", draw); // a new page has its own line, which is hidden

function draw() {
  const line = document.getElementById("connection");
  const sentence = current === "opening" ? lostSentence() : SENTENCES[current];
  line.hidden = !sentence;
  if (!sentence) return;
  if (line.firstChild?.data !== sentence) line.replaceChildren(sentence, ...after());
  if (current === "opening") line.lastChild.textContent = countdown();
}

function after() {
  if (current === "signed-out") return [signIn(), ", then come back: what you typed stays here."];
  if (current !== "opening") return [];
  const seconds = document.createElement("span");
  seconds.ariaHidden = true; // or screen readers would read each second
  return [seconds];
}

function lostSentence() {
  if (performance.now() < lostAt + QUIET) return "";
  return `Connection lost.${isStopKept() ? " The reply will be stopped as soon as it is back." : ""} `;
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
