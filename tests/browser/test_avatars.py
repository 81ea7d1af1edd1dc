"""A photo as phones take them becomes a small picture of its person."""

import io
import os

from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import Tab


def photo() -> bytes:
    """Return a photo of more than 2 MiB, the limit of a request."""
    file = io.BytesIO()
    noise = Image.frombytes("RGB", (1600, 1200), os.urandom(1600 * 1200 * 3))
    noise.save(file, "JPEG", quality=95)
    return file.getvalue()


def test_a_large_photo_is_made_small_and_shown(tab: Tab) -> None:
    page = tab.page
    page.goto(tab.page.url + "accounts/profile/")
    file = {"name": "me.jpg", "mimeType": "image/jpeg", "buffer": photo()}
    page.get_by_label("Choose a picture").set_input_files(file)  # type: ignore[arg-type]
    expect(page.get_by_text("Your picture was saved.")).to_be_visible()
    image = page.locator(".own-avatar img.avatar")
    expect(image).to_be_visible()
    assert image.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [256, 256]
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Your picture was removed.")).to_be_visible()
    expect(image).to_have_count(0)
