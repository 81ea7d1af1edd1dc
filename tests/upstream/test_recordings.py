"""Recordings keep the reads and their timing, but no secrets."""

import pytest

from chatapp.upstream.recordings import MalformedRecording, Read, Recording
from chatapp.upstream.wire.events import TokenUsage
from tests.upstream import RECORDINGS, decode_events, fold_events

AIGATEWAY_USAGE = TokenUsage(12, 37, 49)
TIMED = Recording.parse((RECORDINGS / "aigateway_timed.jsonl").read_text())


def test_a_recording_replays_its_reads_with_their_timing() -> None:
    assert (TIMED.dialect, TIMED.model, TIMED.status) == ("aigateway", "demo", 200)
    delays = [round(delay, 3) for delay, _ in TIMED.replay()]
    assert delays == [0.41, 0.02, 0.01, 0.03]
    assert sum(delay for delay, _ in TIMED.replay(speed=10)) == pytest.approx(0.047)
    reply = fold_events(decode_events(*(data for _, data in TIMED.replay())))
    assert (reply.answer, reply.usage) == ("Größe there", AIGATEWAY_USAGE)


def test_a_dumped_recording_can_be_parsed_again() -> None:
    odd = Recording("auto", "m", (Read(0.5, b"\xff\r\n"), Read(1.25, "\u2028\0".encode())), 502)
    assert TIMED.body.count(b"data: ") == 5
    for recording in (TIMED, odd):
        assert Recording.parse(recording.dump()) == recording


def test_a_recording_contains_neither_the_key_nor_cookies() -> None:
    headers = {"content-type": "text/sk-a-secret-key", "set-cookie": "who=alice"}
    reads = [Read(0.1, b"bad key sk-a-"), Read(0.2, b"secret-key!")]
    recording = Recording.of_response("auto", "m", 401, headers, reads, False, "sk-a-secret-key")
    assert recording.headers == {"content-type": "text/***"}
    assert recording.reads == (Read(0.1, b"bad key *****"), Read(0.2, b"**********!"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: "),
        ("data: {}\n\n", "line 1: "),
        ('{"recording": 2, "dialect": "", "model": ""}', "version 2; this app reads 1"),
        ('{"recording": 1, "dialect": "", "model": ""}\n\n{"text": "x"}', "line 3: .*`at`"),
        ('{"recording": 1, "dialect": "", "model": ""}\n{"at": 1, "base64": "?"}', "line 2: "),
    ],
)
def test_an_invalid_recording_is_rejected_with_its_line(text: str, message: str) -> None:
    with pytest.raises(MalformedRecording, match=message):
        Recording.parse(text)
