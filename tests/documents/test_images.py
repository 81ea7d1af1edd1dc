"""Images are decoded and encoded again, so nothing but their pixels is kept."""

import io
import zlib

import pytest
from PIL import Image, ImageChops, ImageCms, PngImagePlugin

from chatapp.documents import LeftOut, Limits
from chatapp.documents.formats.images import tiff
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
        ("BMP", "image/png"),
        ("TIFF", "image/png"),
        ("AVIF", "image/jpeg"),
    ],
)
def test_images_are_judged_by_their_content(read: Reader, format_: str, media_type: str) -> None:
    picture = read.picture(files.image(format_), "notes.txt")
    assert (picture.media_type, picture.width, picture.height) == (media_type, 40, 30)
    assert f"image/{files.open_image(picture.data).format}".lower() == media_type
    darkest, lightest = files.open_image(picture.data).convert("RGB").getchannel("R").getextrema()
    assert (darkest, lightest) >= (250, 250)
    assert files.open_image(picture.thumbnail).size == (40, 30)


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGBA", "CMYK", "I;16"])
def test_images_of_any_mode_are_read(read: Reader, mode: str) -> None:
    file = io.BytesIO()
    Image.new(mode, (40, 30)).save(file, "JPEG" if mode == "CMYK" else "PNG")
    assert read.picture(file.getvalue()).width == 40


def test_large_images_are_scaled_down(read: Reader) -> None:
    picture = read.picture(files.image("PNG", (3000, 1500)), image_side=1000)
    assert (picture.width, picture.height) == (1000, 500)
    assert files.open_image(picture.data).size == (1000, 500)
    assert files.open_image(picture.thumbnail).size == (512, 256)


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
        image = files.open_image(data)
        assert image.size == (30, 40)
        assert not image.getexif()
        assert not {"exif", "comment", "icc_profile", "xmp"} & set(image.info)
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
    picture = files.open_image(read.picture(file.getvalue()).data)
    assert picture.size == (64, 32)
    assert picture.getpixel((4, 4)) == (255, 0, 0)


def test_text_in_an_image_file_is_dropped(read: Reader) -> None:
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Author", "secret")
    picture = read.picture(files.image("PNG", pnginfo=notes))
    assert b"secret" not in picture.data
    assert files.open_image(picture.data).info == {}


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
    assert files.open_image(picture.data).getchannel("A").getextrema() == (0, 0)


@pytest.mark.parametrize("format_", ["GIF", "WEBP", "PNG", "AVIF"])
def test_the_first_frame_of_an_animation_is_read_and_the_others_are_counted(
    read: Reader, format_: str
) -> None:
    picture = read.picture(files.animation(format_, ["red", "blue", "lime"]))
    pixel = files.open_image(picture.data).convert("RGB").getpixel((1, 1))
    assert isinstance(pixel, tuple)
    assert (pixel[0] > 250, pixel[2] < 5) == (True, True)
    assert picture.left_out == (LeftOut("frame", 2),)


def test_the_second_picture_of_a_phone_is_no_frame(read: Reader) -> None:
    assert read.picture(files.animation("MPO", ["red", "blue"])).left_out == ()


@pytest.mark.parametrize("name", ["IMG_1.HEIC", "IMG_1.jpg"])
def test_photos_of_phones_become_jpegs(read: Reader, name: str) -> None:
    picture = read.picture(files.HEIC, name)
    assert (picture.media_type, picture.width, picture.height) == ("image/jpeg", 64, 32)
    image = files.open_image(picture.data).convert("RGB")
    for place, red, blue in (((4, 4), 250, 0), ((60, 28), 250, 250)):
        pixel = image.getpixel(place)
        assert isinstance(pixel, tuple)
        assert pixel[0] >= red
        assert abs(pixel[2] - blue) < 10


def test_a_damaged_photo_of_a_phone_is_refused(read: Reader) -> None:
    assert "image file is damaged" in read.refusal(files.HEIC[:-30])


def test_the_size_of_a_giant_photo_of_a_phone_is_checked_first(read: Reader) -> None:
    refusal = read.refusal(files.HEIC, pixels=2_000)
    assert refusal == "This image has 64 × 32 pixels. At most 0.002 million pixels can be read."


def test_a_tiff_of_several_pages_is_a_scan(read: Reader) -> None:
    scan = read.scan(files.animation("TIFF", ["red", "blue", "lime"]), pictures=2)
    assert (scan.kind, scan.media_type, scan.page_count) == ("TIFF", "image/tiff", 3)
    colours = [files.open_image(page.data).convert("RGB").getpixel((1, 1)) for page in scan.pages]
    assert colours == [(255, 0, 0), (0, 0, 255)]
    assert all(not page.left_out for page in scan.pages)


def test_chosen_pages_of_a_tiff_are_drawn() -> None:
    scan = io.BytesIO(files.animation("TIFF", ["red", "blue", "lime"]))
    placed = tiff.draw_pages(scan, Limits(), [0, 2])
    assert [(each.page, each.offset) for each in placed] == [(0, 0), (2, 0)]
    colours = [
        files.open_image(each.picture.data).convert("RGB").getpixel((1, 1)) for each in placed
    ]
    assert colours == [(255, 0, 0), (0, 255, 0)]


def test_a_preview_in_a_tiff_is_no_page(read: Reader) -> None:
    file = io.BytesIO()
    preview = Image.new("RGB", (4, 3), "blue")
    preview.encoderinfo = {"tiffinfo": {0xFE: 1}}
    Image.new("RGB", (40, 30), "red").save(file, "TIFF", save_all=True, append_images=[preview])
    assert read.picture(file.getvalue()).width == 40


def test_every_page_of_a_tiff_is_checked_before_it_is_decoded(read: Reader) -> None:
    file = io.BytesIO()
    giant = Image.new("1", (2_000, 2_000))
    Image.new("1", (40, 30)).save(file, "TIFF", save_all=True, append_images=[giant])
    assert "2,000 × 2,000 pixels" in read.refusal(file.getvalue(), pixels=3_000_000)


@pytest.mark.parametrize("brightest", [4_095, 65_535])
@pytest.mark.parametrize("format_", ["PNG", "TIFF"])
def test_grey_with_many_bits_is_not_black(read: Reader, format_: str, brightest: int) -> None:
    file = io.BytesIO()
    ramp = [brightest * x // 99 for x in range(100)] * 30
    image = Image.frombytes("I;16", (100, 30), b"".join(v.to_bytes(2, "little") for v in ramp))
    image.save(file, format_)
    picture = files.open_image(read.picture(file.getvalue()).data)
    assert picture.getextrema() == (0, 255)
    middle = picture.getpixel((50, 9))
    assert isinstance(middle, int)
    assert 120 < middle < 136


@pytest.mark.parametrize("is_of_adobe", [True, False])
def test_pictures_for_printing_keep_their_colours(read: Reader, is_of_adobe: bool) -> None:
    file = io.BytesIO()
    image = Image.new("CMYK", (40, 30), (0, 255, 255, 0))
    if not is_of_adobe:  # which neither inverts the colours nor says who wrote them
        image = ImageChops.invert(image)
    image.save(file, "JPEG", quality=95)
    content = file.getvalue()
    if not is_of_adobe:
        at = content.index(b"\xff\xee")
        content = content[:at] + content[at + 2 + int.from_bytes(content[at + 2 : at + 4], "big") :]
    pixel = files.open_image(read.picture(content).data).convert("RGB").getpixel((9, 9))
    assert isinstance(pixel, tuple)
    assert (pixel[0] > 240, pixel[1] < 20, pixel[2] < 20) == (True, True, True)


def test_colours_of_a_lab_picture_are_converted(read: Reader) -> None:
    file = io.BytesIO()
    Image.new("LAB", (40, 30), (255, 128, 128)).save(file, "TIFF")
    pixel = files.open_image(read.picture(file.getvalue()).data).convert("RGB").getpixel((9, 9))
    assert isinstance(pixel, tuple)
    assert min(pixel) > 240


@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        (
            b"\xff\x0a\xfa\x1f",
            "JPEG XL files cannot be read. Save the file as .jpg, then attach it.",
        ),
        (b"\0\0\0\x0cjP  \r\n\x87\n", "JPEG 2000 files cannot be read. Save the file as .jpg"),
        (b"II*\0\x10\0\0\0CR\x02\0", "RAW photo files cannot be read. Save the file as .jpg"),
        (b"\0\0\0\x18ftypcrx \0\0", "RAW photo files cannot be read. Save the file as .jpg"),
        (b"8BPS\0\1", "Photoshop files cannot be read. Save the file as .png"),
        (b"\0\0\1\0\1\0", "Icon files cannot be read. Save the file as .png"),
        (b"\0\0\0\x18ftypmp42\0\0", "Videos cannot be read."),
        (b"\x1a\x45\xdf\xa3webm", "Videos cannot be read."),
        (b"RIFF\0\0\0\0WAVEfmt ", "Audio files cannot be read."),
        (b"ID3\x03", "Audio files cannot be read."),
    ],
)
def test_other_pictures_sounds_and_videos_are_refused_by_name(
    read: Reader, content: bytes, refusal: str
) -> None:
    assert read.refusal(content, "photo.jpg").startswith(refusal)


def test_a_raw_photo_in_a_tiff_is_refused(read: Reader) -> None:
    file = io.BytesIO()
    Image.new("RGB", (40, 30)).save(file, "TIFF", tiffinfo={0xC612: b"\1\4\0\0"})
    assert read.refusal(file.getvalue()).startswith("RAW photo files cannot be read.")


def test_a_large_photo_in_a_png_becomes_a_jpeg(read: Reader) -> None:
    file = io.BytesIO()
    Image.effect_noise((1600, 1600), 90).convert("RGB").save(file, "PNG", compress_level=1)
    picture = read.picture(file.getvalue())
    assert picture.media_type == "image/jpeg"
    assert len(picture.data) < 2_000_000


@pytest.mark.parametrize("format_", ["PNG", "GIF", "WEBP", "JPEG", "BMP", "TIFF", "AVIF"])
def test_a_giant_image_is_refused_before_it_is_decoded(read: Reader, format_: str) -> None:
    refusal = read.refusal(files.image(format_, (2_000, 2_000)), pixels=3_000_000)
    assert refusal == ("This image has 2,000 × 2,000 pixels. At most 3 million pixels can be read.")


def test_the_header_of_a_giant_image_is_enough_to_refuse_it(read: Reader) -> None:
    header = files.image("PNG")
    giant = header[:16] + (30_000).to_bytes(4, "big") * 2 + header[24:]
    crc = zlib.crc32(giant[12:29]).to_bytes(4, "big")
    refusal = read.refusal(giant[:29] + crc + giant[33:])
    assert refusal.startswith("This image has 30,000 × 30,000 pixels.")


def test_an_alpha_channel_that_hides_nothing_does_not_keep_a_photo_a_png(read: Reader) -> None:
    noise = Image.effect_noise((1200, 1000), 100)
    file = io.BytesIO()
    noise.convert("RGBA").save(file, "PNG")
    assert read.picture(file.getvalue()).media_type == "image/jpeg"
