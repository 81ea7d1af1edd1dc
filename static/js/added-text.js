// Words that join words, which is most of what a streaming reply brings, are written here: htmx would
// parse two documents for each, mark the page and tell everybody. They join their text node, too, so
// that a paragraph is one node and not one for each token: a word that is written to its end on the
// next line is then no node that moves.

// As chatapp/rendering/fragments/swaps.py writes it, with text alone.
const ADDED = /^<template hx-swap-oob="append target:([^" ]+)">([^<]*)<\/template>$/;

const decoder = document.createElement("template");
let waiting = []; // [where, what] in the order in which they came

// Keeps what a frame adds until it is written; whether it is one that adds nothing but words.
export function keep(frame) {
  const [, selector, escaped] = ADDED.exec(frame) ?? [];
  if (!selector) return false;
  const last = waiting.at(-1);
  if (last?.selector === selector) last.escaped += escaped;
  else waiting.push({ selector, escaped });
  return true;
}

export function write() {
  for (const { selector, escaped } of waiting.splice(0)) {
    add(document.querySelector(selector), escaped.includes("&") ? decoded(escaped) : escaped);
  }
}

function add(element, text) {
  const last = element?.lastChild;
  if (last?.nodeType === Node.TEXT_NODE) last.appendData(text);
  else element?.append(text);
}

function decoded(escaped) {
  decoder.innerHTML = escaped;
  return decoder.content.textContent;
}
