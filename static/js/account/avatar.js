// Makes a chosen picture small and square before it is sent: photos are larger than a request may be.

const SIDE = 256; // pixels

async function cutSquare(file) {
  const image = await createImageBitmap(file);
  const side = Math.min(image.width, image.height);
  const canvas = new OffscreenCanvas(SIDE, SIDE);
  const [left, top] = [(image.width - side) / 2, (image.height - side) / 2];
  canvas.getContext("2d").drawImage(image, left, top, side, side, 0, 0, SIDE, SIDE);
  const blob = await canvas.convertToBlob({ type: "image/png" });
  return new File([blob], "picture.png", { type: blob.type });
}

document.addEventListener("change", async ({ target }) => {
  if (!target.matches("[data-avatar]") || !target.files.length) return;
  try {
    const small = new DataTransfer();
    small.items.add(await cutSquare(target.files[0]));
    target.files = small.files;
  } catch {
    // The browser can't decode it: the server says what it thinks of it.
  }
  target.form.requestSubmit();
});
