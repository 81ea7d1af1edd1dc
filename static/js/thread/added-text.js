// Appends plain text from streaming replies to the page. Most frames only add words, and htmx would
// parse two documents for each, mark the page and fire events. The text is appended to the existing
// text node, so that a paragraph is one node and not one per token; a word that wraps to the next
// line while it is completed is then not a node that moves.

// As chatapp/rendering/fragments/swaps.py writes it, if it contains only text.
const ADDED = /^<template hx-swap-oob="append target:([^" ]+)">([^<]*)<\/template>$/;

const decoder = document.createElement("template");
let waiting = []; // [{selector, escaped}] in order of arrival

// Queues a frame's text until `write`. Returns whether the frame only adds text.
export function queue(frame) {
  const [, selector, escaped] = ADDED.exec(frame) ?? [];
  if (!selector) return false;
  const last = waiting.at(-1);
  if (last?.selector === selector) last.escaped += escaped;
  else waiting.push({ selector, escaped });
  return true;
}

export function write() {
  for (const { selector, escaped } of waiting.splice(0)) {
    add(document.querySelector(selector), escaped.includes("&") ? decode(escaped) : escaped);
  }
}

function add(element, text) {
  const last = element?.lastChild;
  if (last?.nodeType === Node.TEXT_NODE) last.appendData(text);
  else element?.append(text);
}

function decode(escaped) {
  decoder.innerHTML = escaped;
  return decoder.content.textContent;
}
