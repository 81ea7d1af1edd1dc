// Zooms the image in a stage, which then scrolls: by wheel, by pinching, or by steps; a mouse can drag it.
// At 1 the image fits.

const MOST = 8;
// For each pixel that is scrolled by a wheel, or by pinching a touchpad.
const WHEEL = 0.002;
const PINCH = 0.01;

let scale = 1;
let stage = null;
let tell = () => {};

const image = () => stage.querySelector("img");
export const isZoomed = () => scale > 1;

// Zooms to a scale; the point at `x` and `y` in the window, or else in the middle, stays where it is.
function zoomTo(newScale, { x, y } = middle()) {
  const before = image().getBoundingClientRect();
  if (!before.width) return; // not loaded yet
  const fitting = { width: before.width / scale, height: before.height / scale };
  scale = Math.min(MOST, Math.max(1, newScale));
  stage.classList.toggle("zoomed", isZoomed());
  for (const side of ["width", "height"]) {
    image().style[side] = isZoomed() ? `${fitting[side] * scale}px` : "";
  }
  const after = image().getBoundingClientRect();
  stage.scrollLeft += after.left - x + ((x - before.left) / before.width) * after.width;
  stage.scrollTop += after.top - y + ((y - before.top) / before.height) * after.height;
  report();
}

export function fit() {
  scale = 1;
  stage.classList.remove("zoomed");
  image().removeAttribute("style");
  report();
}

// An image that has not loaded yet has no size.
function report() {
  const { naturalWidth: natural } = image();
  tell(natural ? `${Math.round((image().getBoundingClientRect().width / natural) * 100)}%` : "");
}

export const zoomBy = (factor, at) => zoomTo(scale * factor, at);

function middle() {
  const { left, top, width, height } = stage.getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}

// Makes the image in an element zoomable; `onZoom` is called with its size, such as "59%".
export function zoomable(element, onZoom) {
  stage = element;
  tell = onZoom;
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY * (event.ctrlKey ? PINCH : WHEEL)), event);
  });
  stage.addEventListener("dblclick", (event) => (isZoomed() ? fit() : zoomTo(2, event)));
  stage.addEventListener("pointermove", ({ pointerType, buttons, movementX, movementY }) => {
    if (pointerType === "mouse" && buttons === 1) stage.scrollBy(-movementX, -movementY);
  });
  stage.addEventListener("touchstart", begin);
  stage.addEventListener("touchmove", pinch, { passive: false });
}

let pinchStart = null; // {apart, scale} when two fingers touched

function begin({ touches }) {
  pinchStart = touches.length === 2 ? { apart: apart(touches), scale } : null;
}

function pinch(event) {
  if (!pinchStart || event.touches.length !== 2) return;
  event.preventDefault();
  const [one, other] = event.touches;
  const at = { x: (one.clientX + other.clientX) / 2, y: (one.clientY + other.clientY) / 2 };
  zoomTo((pinchStart.scale * apart(event.touches)) / pinchStart.apart, at);
}

const apart = ([one, other]) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
