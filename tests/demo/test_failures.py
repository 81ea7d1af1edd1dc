"""Failures beyond a status: passing ones, unusual answers, and recordings."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from chatapp.demo.app import demo_application
from chatapp.demo.tries import MAX_REMEMBERED, Tries
from chatapp.upstream.recordings import Read, Recording
from chatapp.upstream.wire.decoding.decoder import EventDecoder
from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.reply import Ending
from tests.demo import KEY, Client, ask, question
from tests.upstream import fold_events


@pytest.mark.parametrize(
    ("failure", "statuses"),
    [("503 once", [503, 200]), ("503 twice", [503, 503, 200]), ("429 once", [429, 200])],
)
async def test_a_passing_failure_passes_and_starts_over(failure: str, statuses: list[int]) -> None:
    application = demo_application(KEY, float("inf"))
    statuses_seen = []
    for _ in range(2 * len(statuses)):
        client = Client(question(f"fail: {failure}"))
        client.application = application
        statuses_seen.append((await client.run()).status)

    assert statuses_seen == statuses * 2
    assert client.reply().ending is Ending.COMPLETE


def test_tries_are_counted_per_request_and_forgotten_eventually() -> None:
    tries = Tries()

    assert tries.fails(b"a", 1)
    assert tries.fails(b"b", 1)
    assert not tries.fails(b"a", 1)
    for number in range(MAX_REMEMBERED):
        tries.fails(str(number).encode(), 1)
    assert tries.fails(b"b", 1)


@pytest.mark.parametrize("status", [429, 503])
async def test_a_failure_of_one_model_leaves_the_others_answering(status: int) -> None:
    failed = await ask(f"fail: {status} of demo-reasoner")
    other = await ask(f"fail: {status} of demo-reasoner", model="demo-plain")

    assert (failed.status, other.status) == (status, 200)
    assert "fallback" in other.reply().answer


@pytest.mark.parametrize("status", [408, 409, 529])
async def test_more_statuses(status: int) -> None:
    client = await ask(f"fail: {status}")

    assert client.status == status
    assert client.json["error"]["message"]


async def test_a_json_answer_instead_of_a_stream() -> None:
    client = await ask("fail: json")

    assert client.headers[b"content-type"] == b"application/json"
    assert EventDecoder().receive_completion(client.body)


async def test_a_page_an_empty_stream_and_a_redirect() -> None:
    page, empty, redirect = [await ask(f"fail: {name}") for name in ("html", "empty", "redirect")]

    assert (page.status, page.headers[b"content-type"]) == (200, b"text/html")
    assert b"<title>Down for maintenance</title>" in page.body
    assert (empty.status, empty.body) == (200, b"")
    assert redirect.status == 307
    assert redirect.headers[b"location"].startswith(b"https://elsewhere.example/")


@pytest.mark.parametrize(
    ("failure", "kind"),
    [("malformed", ErrorKind.MALFORMED), ("endless line", ErrorKind.TOO_LARGE)],
)
async def test_malformed_streams(failure: str, kind: ErrorKind) -> None:
    error = (await ask(f"fail: {failure}")).reply().error

    assert error
    assert error.kind is kind


@pytest.mark.parametrize(
    ("failure", "ending", "answer"),
    [
        ("event", Ending.FAILED, "Half of an answer, and"),
        ("done", Ending.CUT_OFF, "Half of an answer, and"),
        ("odd word", Ending.FAILED, "Half of an answer, and"),
        ("no answer", Ending.NO_ANSWER, ""),
    ],
)
async def test_incomplete_endings(failure: str, ending: Ending, answer: str) -> None:
    reply = (await ask(f"fail: {failure}")).reply()

    assert (reply.ending, reply.answer) == (ending, answer)


@pytest.mark.parametrize("stream", [True, False])
async def test_sources_and_a_picture_come_with_the_text(stream: bool) -> None:
    replies = []
    for wish in ("show me sources", "show me a picture"):
        client = await ask(wish, stream=stream)
        events = None if stream else EventDecoder().receive_completion(client.body)
        replies.append(client.reply() if events is None else fold_events(events))
    sources, picture = replies

    assert [source.host for source in sources.sources.values()] == [
        *("commonmark.org", "www.djangoproject.com"),
    ]
    assert [image.media_type for image in picture.images] == ["image/png"]
    assert sources.answer
    assert picture.ending is Ending.COMPLETE


async def test_silence_lasts_until_the_reader_leaves() -> None:
    client = Client(question("fail: silence"))
    running = asyncio.create_task(client.run())
    await client.until_sent(1)
    client.leave()
    await running

    assert client.body == b""
    assert asyncio.all_tasks() == {asyncio.current_task()}


PIECES = (
    b'data: {"choices":[{"delta":{"content":"Gr\xc3',
    b'\xb6\xc3\x9fe"}}]}\r\n\r',
    b"\n: ping\n",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    reads = tuple(Read(0.01 * place, data) for place, data in enumerate(PIECES))
    headers = {"content-type": "text/event-stream", "server": "strange"}
    recording = Recording("auto", "m", reads, headers=headers, is_cut=True)
    (tmp_path / "strange.jsonl").write_text(recording.dump(), encoding="utf-8")
    (tmp_path / "broken.jsonl").write_text("{", encoding="utf-8")
    return tmp_path


async def test_recordings_are_models(folder: Path) -> None:
    client = await Client(path="/v1/models", method="GET", recordings=folder).run()

    assert [model["id"] for model in client.json["data"]][-2:] == [
        "replay-broken",
        "replay-strange",
    ]


async def test_a_recording_is_replayed_byte_for_byte(folder: Path) -> None:
    client = await Client(question("hello", model="replay-strange"), recordings=folder).run()

    assert tuple(message["body"] for message in client.sent[1:-1]) == PIECES
    assert client.headers == {b"content-type": b"text/event-stream"}
    assert client.reply().answer == "Größe"
    assert client.reply().ending is Ending.CUT_OFF


async def test_an_invalid_recording_is_reported(folder: Path) -> None:
    client = await Client(question("hello", model="replay-broken"), recordings=folder).run()

    assert client.status == 500
    assert "broken.jsonl" in client.json["error"]["message"]


@pytest.mark.parametrize("model", ["replay-none", "replay-../strange"])
async def test_a_name_outside_the_folder_is_not_a_model(folder: Path, model: str) -> None:
    client = await Client(question("hello", model=model), recordings=folder / "..").run()

    assert client.status == 404


async def test_without_the_folder_there_are_no_recordings(tmp_path: Path) -> None:
    missing = tmp_path / "none"

    assert (await Client(path="/v1/models", method="GET", recordings=missing).run()).status == 200


async def ask_with_parameters(text: str, **parameters: Any) -> Client:
    """Send a question with these parameters."""
    return await Client(question(text, **parameters)).run()


@pytest.mark.parametrize(
    ("failure", "parameter", "value"),
    [("temperature", "temperature", 0.2), ("effort", "reasoning_effort", "high")],
)
async def test_a_parameter_is_refused_if_the_request_has_it(
    failure: str, parameter: str, value: object
) -> None:
    refused = await ask_with_parameters(f"fail: {failure}", **{parameter: value})
    assert refused.status == 400
    assert f"'{parameter}'" in refused.json["error"]["message"]
    assert refused.json["error"]["param"] == parameter

    answered = await ask_with_parameters(f"fail: {failure}", top_p=0.5)
    assert answered.reply().ending is Ending.COMPLETE


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
async def test_an_answer_has_no_more_tokens_than_the_request_allows(name: str) -> None:
    whole = (await ask("hello")).reply()
    cut = (await ask_with_parameters("hello", **{name: 5})).reply()

    assert cut.ending is Ending.LENGTH
    assert whole.answer.startswith(cut.answer)
    assert 5 <= len(cut.answer) < 60


@pytest.mark.parametrize(("name", "value"), [("temperature", 3), ("top_p", 2), ("max_tokens", 0)])
async def test_a_value_out_of_range_is_refused(name: str, value: int) -> None:
    refused = await ask_with_parameters("hello", **{name: value})

    assert refused.status == 400
    assert name in refused.json["error"]["message"]
