// Keeps a page at its end while it grows, until its reader scrolls away.

const NEAR = 80; // px from the end that still count as the end

const place = () => ({ height: document.documentElement.scrollHeight, visible: innerHeight });
const isAtEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - NEAR;

let last = place();
let isFollowing = isAtEnd();

// A move that comes with another height is the browser's, and stops nothing.
document.addEventListener("scroll", () => {
  const before = last;
  last = place();
  const isResized = last.height !== before.height || last.visible !== before.visible;
  isFollowing = isAtEnd() || (isFollowing && isResized);
}, { passive: true });

new ResizeObserver(stayAtEnd).observe(document.body);

// Scrolls to the end, unless the reader is elsewhere.
export function stayAtEnd() {
  if (!isFollowing) return;
  scrollTo(0, document.documentElement.scrollHeight);
  last = place();
}
