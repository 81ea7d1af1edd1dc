// Tells of a person's input that is about to scroll an element up, before anything has moved: the wheel, a
// finger, or the scrollbar. Keys are those of keys.js.

const SCROLLBAR = 16; // px: at least its width
const SLOP = 10; // px that a finger may move in a tap

// Calls `tell` with the element under the input.
export function watchForScrollingUp(scroller, tell) {
  let finger = null; // the touch at its highest place
  const passive = { passive: true };

  scroller.addEventListener("wheel", ({ deltaY, ctrlKey, target }) => {
    if (deltaY < 0 && !ctrlKey) tell(target);
  }, passive);

  scroller.addEventListener("touchstart", ({ touches }) => {
    [finger] = touches;
  }, passive);

  scroller.addEventListener("touchmove", ({ touches, target }) => {
    const down = touches[0].clientY - finger.clientY;
    const across = Math.abs(touches[0].clientX - finger.clientX);
    if (down < 0) [finger] = touches;
    else if (down > SLOP && down > across && touches.length === 1) tell(target);
  }, passive);

  scroller.addEventListener("pointerdown", ({ target, offsetX, pointerType }) => {
    const isScrollbar = target === scroller && offsetX > scroller.offsetWidth - SCROLLBAR;
    if (isScrollbar && pointerType === "mouse") tell(target);
  }, passive);
}
