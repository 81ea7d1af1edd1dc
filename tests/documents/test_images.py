"""Images are decoded and encoded again, so nothing but their pixels is kept."""

import io
import zlib

import pytest
from PIL import Image, ImageCms, PngImagePlugin

from tests.documents import files
from tests.documents.conftest import Reader

# How a camera that is held in another way stores an upright image.
TURNED = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}
ORIENTATION, GPS = 0x0112, 0x8825


@pytest.mark.parametrize(
    ("format_", "media_type"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("WEBP", "image/png"),
        ("GIF", "image/png"),
        ("MPO", "image/jpeg"),
    ],
)
def test_images_are_judged_by_their_content(read: Reader, format_: str, media_type: str) -> None:
    picture = read.picture(files.image(format_), "notes.txt")
    assert (picture.media_type, picture.width, picture.height) == (media_type, 40, 30)
    assert f"image/{files.opened(picture.data).format}".lower() == media_type
    darkest, lightest = files.opened(picture.data).convert("RGB").getchannel("R").getextrema()
    assert (darkest, lightest) >= (250, 250)
    assert files.opened(picture.thumbnail).size == (40, 30)


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGBA", "CMYK", "I;16"])
def test_images_of_any_mode_are_read(read: Reader, mode: str) -> None:
    file = io.BytesIO()
    Image.new(mode, (40, 30)).save(file, "JPEG" if mode == "CMYK" else "PNG")
    assert read.picture(file.getvalue()).width == 40


def test_large_images_are_scaled_down(read: Reader) -> None:
    picture = read.picture(files.image("PNG", (3000, 1500)), image_side=1000)
    assert (picture.width, picture.height) == (1000, 500)
    assert files.opened(picture.data).size == (1000, 500)
    assert files.opened(picture.thumbnail).size == (512, 256)


def test_photos_are_turned_upright_and_lose_what_they_say_of_their_owner(read: Reader) -> None:
    exif = Image.Exif()
    exif[ORIENTATION] = 6  # turned by 90 degrees
    exif[0x010E] = "secret place"
    exif.get_ifd(GPS)[2] = (52.0, 31.0, 12.0)
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    content = files.image(
        "JPEG", exif=exif, comment=b"secret comment", icc_profile=profile, xmp=b"secret xmp"
    )
    picture = read.picture(content)
    assert (picture.width, picture.height) == (30, 40)
    for data in (picture.data, picture.thumbnail):
        kept = files.opened(data)
        assert kept.size == (30, 40)
        assert not kept.getexif()
        assert not {"exif", "comment", "icc_profile", "xmp"} & set(kept.info)
        assert b"secret" not in data


@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_orientation_is_turned_upright(read: Reader, orientation: int) -> None:
    upright = Image.new("RGB", (64, 32), "white")
    upright.paste("red", (0, 0, 16, 16))  # in the corner at the top left
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    file = io.BytesIO()
    turned = upright.transpose(TURNED[orientation]) if orientation > 1 else upright
    turned.save(file, "PNG", exif=exif)
    picture = files.opened(read.picture(file.getvalue()).data)
    assert picture.size == (64, 32)
    assert picture.getpixel((4, 4)) == (255, 0, 0)


def test_text_in_an_image_file_is_dropped(read: Reader) -> None:
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Author", "secret")
    picture = read.picture(files.image("PNG", pnginfo=notes))
    assert b"secret" not in picture.data
    assert files.opened(picture.data).info == {}


@pytest.mark.parametrize("format_", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_script_behind_an_image_is_dropped(read: Reader, format_: str) -> None:
    script = b"*/=alert(document.domain)/*<script>alert(1)</script>"
    picture = read.picture(files.image(format_) + script)
    assert b"alert" not in picture.data + picture.thumbnail


def test_transparency_is_kept(read: Reader) -> None:
    file = io.BytesIO()
    Image.new("RGBA", (9, 9), (255, 0, 0, 0)).save(file, "WEBP", lossless=True)
    picture = read.picture(file.getvalue())
    assert picture.media_type == "image/png"
    assert files.opened(picture.data).getchannel("A").getextrema() == (0, 0)


def test_the_first_picture_of_an_animation_is_read(read: Reader) -> None:
    file = io.BytesIO()
    frames = [Image.new("RGB", (9, 9), colour) for colour in ("red", "blue")]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    picture = read.picture(file.getvalue())
    assert files.opened(picture.data).convert("RGB").getpixel((1, 1)) == (255, 0, 0)


def test_a_large_photo_in_a_png_becomes_a_jpeg(read: Reader) -> None:
    file = io.BytesIO()
    Image.effect_noise((1600, 1600), 90).convert("RGB").save(file, "PNG", compress_level=1)
    picture = read.picture(file.getvalue())
    assert picture.media_type == "image/jpeg"
    assert len(picture.data) < 2_000_000


@pytest.mark.parametrize("format_", ["PNG", "GIF", "WEBP", "JPEG"])
def test_a_giant_image_is_refused_before_it_is_decoded(read: Reader, format_: str) -> None:
    said = read.refusal(files.image(format_, (2_000, 2_000)), pixels=3_000_000)
    assert said == ("This image has 2,000 × 2,000 pixels. At most 3 million pixels can be read.")


def test_the_header_of_a_giant_image_is_enough_to_refuse_it(read: Reader) -> None:
    header = files.image("PNG")
    giant = header[:16] + (30_000).to_bytes(4, "big") * 2 + header[24:]
    crc = zlib.crc32(giant[12:29]).to_bytes(4, "big")
    said = read.refusal(giant[:29] + crc + giant[33:])
    assert said.startswith("This image has 30,000 × 30,000 pixels.")
