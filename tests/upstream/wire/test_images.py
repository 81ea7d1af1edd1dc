"""Images are typed by their bytes, and limited in number and size."""

import base64

import pytest

from chatapp.upstream.wire.decoding import choices as choices_module
from chatapp.upstream.wire.reply import Ending
from tests.support.fake_upstream import (
    choice,
    delta,
    done,
    finish,
)
from tests.upstream import decode_reply
from tests.upstream.wire import IMAGE_BYTES, PNG


def test_an_image_after_the_finish_belongs_to_the_whole_reply() -> None:
    reply = decode_reply(delta("Look:"), finish(), images(PNG), done())
    assert (len(reply.images), reply.finish_reason, reply.ending) == (1, "stop", Ending.COMPLETE)


def images(*urls: object) -> bytes:
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return choice({"images": parts})


def test_images_are_recognised_by_their_bytes_and_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    def build_data_url(data: bytes, kind: str = "png") -> str:
        return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"

    kinds = [b"\xff\xd8\xff\xe0", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8 ", IMAGE_BYTES]
    reply = decode_reply(images(*map(build_data_url, kinds)), finish())
    types = [image.media_type.removeprefix("image/") for image in reply.images]
    assert types == ["jpeg", "gif", "webp", "png"]
    assert reply.images[3].data == IMAGE_BYTES
    assert (reply.ending, reply.left_out) == (Ending.COMPLETE, {})
    hostile = ["https://tracker.example/x.png", build_data_url(b"<svg onload=alert(1)>", "svg+xml")]
    hostile += [build_data_url(b"<svg>"), "data:text/html;base64,PGI+", "data:image/png;base64,%%%"]
    assert decode_reply(images(*hostile, 5), finish()).left_out == {"image": 6}
    assert len(decode_reply(images(*[PNG] * 20)).images) == 16
    monkeypatch.setattr(choices_module, "MAX_IMAGES_BYTES", 2 * len(IMAGE_BYTES))
    assert len(decode_reply(images(PNG, PNG), images(PNG)).images) == 2
