"""Pictures in the text of an answer become images, wherever the stream is cut."""

import pytest

from tests.support.fake_upstream import delta, done, finish
from tests.upstream import decode_reply
from tests.upstream.wire import PNG

ANSWER = f"Here it is!\n\n![a picture]({PNG})\n\nBigger?"
SIZES = [1, 2, 7, 40, 1000]


def in_pieces(text: str, size: int) -> list[bytes]:
    return [delta(text[at : at + size]) for at in range(0, len(text), size)]


@pytest.mark.parametrize("size", SIZES)
def test_a_picture_in_the_text_is_an_image(size: int) -> None:
    reply = decode_reply(*in_pieces(ANSWER * 2, size), finish(), done())
    assert reply.answer == "Here it is!\n\n\n\nBigger?" * 2
    assert [image.media_type for image in reply.images] == ["image/png"] * 2


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "text",
    [
        "![a](https://example.org/a.png) ![b",
        "![a](data:image/svg+xml;base64,AAAA)",
        "![a](data:text/html;base64,AAAA)",
        "![a] (data:image/png;base64,AAAA)",
        "Wow!![",
    ],
)
def test_other_text_stays_as_it_is(text: str, size: int) -> None:
    reply = decode_reply(*in_pieces(text, size), finish(), done())
    assert (reply.answer, reply.images, reply.left_out) == (text, [], {})


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("text", [ANSWER[:60], "Here it is!\n\n![a](data:image/png;base64,AAAA)"])
def test_a_picture_that_is_no_picture_is_said_to_be_left_out(text: str, size: int) -> None:
    reply = decode_reply(*in_pieces(text, size), finish(), done())
    assert (reply.answer, reply.left_out) == ("Here it is!\n\n", {"image": 1})
