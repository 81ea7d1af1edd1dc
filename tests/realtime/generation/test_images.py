"""Images of a request: read from the storage, scaled, sent as data URLs, and refused by models."""

import asyncio
import base64
import os
import threading
from io import BytesIO
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from PIL import Image

from chatapp.models import Message, Upstream, UpstreamFailure
from chatapp.models.files import storage
from chatapp.models.platform.lessons import ConcessionLesson
from chatapp.reading import images
from chatapp.reading.images import EncodedImages, scale_image, with_images
from chatapp.rendering.fragments.endings import build_notice
from chatapp.upstream.wire.requests.concessions import Concession
from chatapp.upstream.wire.requests.content import EncodedPart, ImagePart, text_part
from chatapp.upstream.wire.requests.history import NO_ANSWER, History
from tests.realtime.generation.conftest import Desk
from tests.realtime.generation.replies import call, load_saved_reply
from tests.support.fake_upstream import FakeUpstream, answer, done, finish, role
from tests.support.pictures import png

pytestmark = pytest.mark.django_db

DOCUMENT = text_part("# Notes\n\nThe sky is blue.")


def noise(format: str, width: int, height: int) -> bytes:
    """Return an image that hardly compresses."""
    written = BytesIO()
    Image.frombytes("RGB", (width, height), os.urandom(width * height * 3)).save(written, format)
    return written.getvalue()


def store_image(data: bytes, width: int, height: int, media_type: str = "image/png") -> ImagePart:
    name = f"aa/{uuid4().hex}"
    storage.write(name, BytesIO(data))
    return ImagePart(name, media_type, width, height, len(data))


def asking(*parts: object) -> History:
    return History.of([{"role": "user", "content": [*parts, text_part("Look.")]}])


def data_url(data: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


async def run_reply(desk: Desk, before: History) -> Message:
    """Return the reply of a prompt that follows `before`, as it was saved."""
    generation, _ = await desk.generation(before)
    await generation.run()
    return await load_saved_reply(generation.reply)


# Sending


async def test_an_image_is_sent_as_a_data_url_beside_the_texts(
    desk: Desk, upstream: FakeUpstream
) -> None:
    data = png(20, 10)
    reply = await run_reply(desk, asking(DOCUMENT, store_image(data, 20, 10)))
    assert reply.ending == "complete"
    [request] = upstream.chat_requests
    assert request.body["messages"][0]["content"] == [
        DOCUMENT,
        {"type": "image_url", "image_url": {"url": data_url(data)}},
        text_part("Look."),
    ]


async def test_rounds_of_tools_send_the_images_again(desk: Desk, upstream: FakeUpstream) -> None:
    upstream.script(role(), call("current_date_and_time", "{}"), finish("tool_calls"), done())
    await run_reply(desk, asking(store_image(png(20, 10), 20, 10)))
    first, second = upstream.chat_requests
    assert second.body["messages"][: len(first.body["messages"])] == first.body["messages"]


async def test_ten_turns_with_files_begin_with_the_same_bytes(
    desk: Desk, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if each turn reads, scales and encodes all images again."""
    monkeypatch.setattr(images, "IMAGE_CACHE", EncodedImages(0))
    before = asking(DOCUMENT, store_image(noise("JPEG", 1700, 40), 1700, 40, "image/jpeg"))
    bodies: list[bytes] = []
    for turn in range(10):
        await run_reply(desk, before)
        bodies.append(upstream.chat_requests[-1].raw)
        question = [store_image(png(2000, 10 + turn), 2000, 10 + turn), text_part(f"And {turn}?")]
        assistant_message = {"role": "assistant", "content": f"Answer {turn}"}
        before = before.concatenate(
            History.of([assistant_message, {"role": "user", "content": question}])
        )
    for earlier, later in pairwise(bodies):
        shared, _, _ = earlier.rpartition(b'{"role":"assistant","content":"' + NO_ANSWER.encode())
        assert b"data:image/jpeg;base64," in shared
        assert later.startswith(shared)


async def test_an_image_larger_than_the_upstream_wants_is_scaled_down(
    desk: Desk, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    saved_upstream.image_side = 200
    await database_sync_to_async(saved_upstream.save)()
    await run_reply(desk, asking(store_image(noise("JPEG", 400, 100), 400, 100, "image/jpeg")))
    [part, _] = upstream.chat_requests[0].body["messages"][0]["content"]
    head, _, encoded = part["image_url"]["url"].partition(",")
    image = Image.open(BytesIO(base64.b64decode(encoded)))
    assert (head, image.format, image.size) == ("data:image/jpeg;base64", "JPEG", (200, 50))


@pytest.mark.parametrize("format", ["JPEG", "PNG"])
def test_scaling_an_image_gives_the_same_bytes_each_time(format: str) -> None:
    data = noise(format, 300, 200)
    first = scale_image(data, f"image/{format.lower()}", 100)
    assert first == scale_image(data, f"image/{format.lower()}", 100)


def test_a_palette_image_is_scaled_by_its_colours() -> None:
    written = BytesIO()
    Image.new("P", (400, 400)).save(written, "PNG")
    assert Image.open(BytesIO(scale_image(written.getvalue(), "image/png", 100))).size == (100, 100)


async def test_the_event_loop_goes_on_while_the_storage_is_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, is_released = png(4, 4), threading.Event()
    history = asking(store_image(data, 4, 4))

    def slow(name: str) -> bytes:
        assert is_released.wait(60)
        return data

    monkeypatch.setattr(storage, "read", slow)
    asyncio.get_running_loop().call_soon(is_released.set)
    [message] = await with_images(history, 1568)
    assert isinstance(message["content"], list)


async def test_an_image_is_read_once_for_all_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    history = asking(store_image(png(4, 4), 4, 4))
    first = await with_images(history, 1568)
    monkeypatch.setattr(storage, "read", None)
    second = await with_images(history, 1568)
    assert first[0]["content"][0] is second[0]["content"][0]  # type: ignore[index]


def test_the_cache_of_encoded_images_is_bounded() -> None:
    cache = EncodedImages(10)
    cache.put(("a", 1), EncodedPart(b"12345"))
    cache.put(("b", 1), EncodedPart(b"12345"))
    assert cache.get(("a", 1))
    cache.put(("c", 1), EncodedPart(b"12345"))
    assert [bool(cache.get((name, 1))) for name in "abc"] == [True, False, True]
    cache.put(("d", 1), EncodedPart(b"x" * 11))
    assert not cache.get(("d", 1))


# Files that can't be read


async def test_without_a_lost_file_nothing_is_sent(desk: Desk, upstream: FakeUpstream) -> None:
    reply = await run_reply(desk, asking(ImagePart("aa/lost", "image/png", 4, 4, 10)))
    notice = build_notice(reply)
    assert notice
    assert notice.text.startswith("A file of this chat is no longer stored, so nothing was sent")
    assert (reply.ending, reply.usage.total_tokens, notice.detail) == ("failed", 0, "")
    assert not upstream.chat_requests
    assert not await UpstreamFailure.objects.aexists()


async def test_without_the_storage_nothing_is_sent(
    desk: Desk, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_error(name: str) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(storage, "read", raise_error)
    reply = await run_reply(desk, asking(ImagePart("aa/any", "image/png", 4, 4, 10)))
    notice = build_notice(reply)
    assert notice
    assert notice.text.startswith("The files of this chat can't be read right now, so nothing was")
    assert not upstream.chat_requests


# Models that take no images


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "No endpoints found that support image input"),
        (500, "image input is not supported - hint: if this is unexpected, provide the mmproj"),
        (400, "messages[0].content must be a string"),
    ],
)
async def test_a_refusal_of_images_is_explained_and_remembered(
    desk: Desk, saved_upstream: Upstream, upstream: FakeUpstream, status: int, message: str
) -> None:
    upstream.fail(status, {"error": {"message": message}})
    reply = await run_reply(desk, asking(store_image(png(4, 4), 4, 4)))
    notice = build_notice(reply)
    assert notice
    assert notice.text.startswith("This model takes no images. Your message and its files are kept")
    assert notice.detail == f"{status} {message}"
    assert len(upstream.chat_requests) == 1
    await saved_upstream.arefresh_from_db()
    assert saved_upstream.takes_images("m") is False
    assert saved_upstream.takes_images("another") is None
    assert not await UpstreamFailure.objects.aexists()


async def test_the_same_words_about_a_text_are_no_refusal_of_images(
    desk: Desk, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    upstream.fail(400, {"error": {"message": "No endpoints found that support image input"}})
    reply = await run_reply(desk, History.of([{"role": "user", "content": "Draw"}]))
    assert reply.upstream_error
    assert reply.upstream_error.kind == "bad_request"
    await saved_upstream.arefresh_from_db()
    assert saved_upstream.takes_images("m") is None


# Models that take only texts


async def test_a_model_that_takes_only_texts_is_sent_the_parts_as_one(
    desk: Desk, upstream: FakeUpstream
) -> None:
    refusal: Any = {"error": {"message": "messages[0].content must be a string"}}
    upstream.fail(400, refusal)
    for _ in range(2):
        reply = await run_reply(desk, asking(DOCUMENT))
        assert reply.ending == "complete"
    refused, *contents = (
        chat_request.body["messages"][0]["content"] for chat_request in upstream.chat_requests
    )
    assert isinstance(refused, list)
    assert contents == ["# Notes\n\nThe sky is blue.\n\nLook."] * 2


async def test_a_model_that_takes_only_texts_is_never_sent_a_prompt_without_its_images(
    desk: Desk, upstream: FakeUpstream
) -> None:
    learn = database_sync_to_async(Upstream.learn)
    await learn(desk.upstream.pk, "m", [ConcessionLesson(Concession.PARTS)])
    upstream.default = answer()
    await run_reply(desk, asking(store_image(png(4, 4), 4, 4)))
    assert isinstance(upstream.chat_requests[0].body["messages"][0]["content"], list)
