// The details of the meter: what fills the model's context, in tokens, as an estimate.

import { groupDigits } from "./message-box.js";

const GAP = 8; // px above the meter

// Two significant digits.
export function roundTokens(count) {
  const step = 10 ** Math.max(`${Math.round(count)}`.length - 2, 0);
  return groupDigits(Math.round(count / step) * step);
}

// Fills in the tokens by what they are for, and places the details above the meter.
export function fillDetails(details, meter, model, amounts) {
  const { left, right, top } = meter.getBoundingClientRect();
  const { clientWidth: width, clientHeight: height } = document.documentElement;
  const isLeft = left < width / 2;
  details.style.inset =
    `auto ${isLeft ? "auto" : `${width - right}px`} ${height - top + GAP}px ${isLeft ? `${left}px` : "auto"}`;
  details.querySelector("bdi").textContent = model;
  details.querySelector("[data-of]").textContent =
    `About ${roundTokens(amounts.prompt + amounts.answer)} of ${groupDigits(amounts.most)} tokens`;
  for (const part of details.querySelectorAll("[data-part]")) {
    const count = amounts[part.dataset.part];
    part.textContent = roundTokens(count);
    part.parentElement.hidden = !count;
  }
}
