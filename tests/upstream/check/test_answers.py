"""Reading recorded answers."""

import gzip

import pytest

from chatapp.upstream.check.answers import describe_form, read_answer
from chatapp.upstream.recordings import Read, Recording
from tests.upstream.check import read_recording


def test_a_compressed_recording_is_read() -> None:
    packed = gzip.compress(read_recording("aigateway"))
    reads = (Read(0.1, packed[:40]), Read(0.2, packed[40:]))
    recording = Recording("auto", "m", reads, headers={"content-encoding": "gzip"})
    assert read_answer(recording, "").reply.answer == "Hello there"
    other = Recording("auto", "m", reads, headers={"content-encoding": "br"})
    error = read_answer(other, "").reply.error
    assert error
    assert "compressed with br" in error.message


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (b'{"error": {"message": 1, "type": 2}}', '{"error": {"message", "type"}}'),
        (b'{"error": "text"}', '{"error"}'),
        (b'{"detail": [], "code": 1}', '{"code", "detail"}'),
        (b"[1]", "JSON that is not an object"),
        (b" <html>", "HTML"),
        (b"oh no", "plain text"),
        (b"", "an empty body"),
    ],
)
def test_the_form_of_an_error_is_described(body: bytes, form: str) -> None:
    assert describe_form(body) == form
