// A press in the thread is meant for the button on which it began. If the thread moves below the pointer
// before the release, as it does while text streams, the browser clicks on the common ancestor of both
// elements, which is not a button; so the button is clicked here.

const STILL = 10; // px of unintended movement; further away, the pointer has left the button

let pressedAt = null; // {pressedButton, x, y} while the pointer is down

document.addEventListener("pointerdown", ({ target, pointerType, button, clientX: x, clientY: y }) => {
  const isClick = pointerType === "mouse" && button === 0; // a moving finger scrolls
  const pressedButton = isClick && target.closest?.("#messages button");
  pressedAt = pressedButton ? { pressedButton, x, y } : null;
}, true);

document.addEventListener("pointerup", ({ clientX, clientY }) => {
  if (!pressedAt) return;
  const { pressedButton, x, y } = pressedAt;
  pressedAt = null;
  if (Math.hypot(clientX - x, clientY - y) > STILL) return;
  if (pressedButton.isConnected && !isOver(pressedButton, clientX, clientY)) pressedButton.click();
}, true);

function isOver(element, x, y) {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return left <= x && x < right && top <= y && y < bottom;
}
