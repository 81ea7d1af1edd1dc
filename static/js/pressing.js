// A press in the thread is for the button on which it began. Where the thread moves below the pointer
// before it ends, as it does while text streams, the browser clicks on what both places have in
// common, which is no button; so the click is made here.

const STILL = 10; // px that a hand moves a pointer without meaning to: further, it has left the button

let pressed = null; // {held, x, y} while the pointer is down

document.addEventListener("pointerdown", ({ target, pointerType, button, clientX: x, clientY: y }) => {
  const isClick = pointerType === "mouse" && button === 0; // a finger that moves scrolls
  const held = isClick && target.closest?.("#messages button");
  pressed = held ? { held, x, y } : null;
}, true);

document.addEventListener("pointerup", ({ clientX, clientY }) => {
  if (!pressed) return;
  const { held, x, y } = pressed;
  pressed = null;
  if (Math.hypot(clientX - x, clientY - y) > STILL) return;
  if (held.isConnected && !isOver(held, clientX, clientY)) held.click();
}, true);

function isOver(element, x, y) {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return left <= x && x < right && top <= y && y < bottom;
}
