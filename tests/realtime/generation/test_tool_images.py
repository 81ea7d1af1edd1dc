"""Images in the results of tools: encoded again, stored, shown, and sent to models that see."""

from base64 import b64decode, encodebytes
from html import unescape
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.urls import reverse

from chatapp.models import Conversation, Message, ReplyImage, StoredFile, ToolServer, Upstream, User
from chatapp.models.conversations.messages.images import FIRST_OF_TOOLS
from chatapp.models.files import storage
from chatapp.reading import tool_images
from chatapp.reading.tool_images import ToolImages
from chatapp.tools import ToolImage
from chatapp.upstream.wire.images import MAX_IMAGES
from tests.documents.files import open_image
from tests.realtime.generation.replies import call, load_saved_reply
from tests.support.fake_upstream import MODEL, FakeUpstream, answer, done, finish, role
from tests.support.pictures import png
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db(transaction=True)

NO_IMAGE = "[Image 3 was left out: it is not an image that can be read.]"


@pytest.fixture(autouse=True)
def unasked_tools(workshop: ToolServer) -> None:
    """The tools run without a question."""
    workshop.asks_first = False
    workshop.save()


def draws(upstream: FakeUpstream, count: int = 2) -> None:
    """Let the model call the tool once."""
    drawing = call("workshop__draw", f'{{"count": {count}}}')
    upstream.script(role(), drawing, finish("tool_calls"), done())


async def draw_images(tab: Tab, upstream: FakeUpstream, count: int = 2) -> Message:
    draws(upstream, count)
    upstream.script(*answer("Two lines."))
    reply = await tab.ask("Draw")
    await tab.until_ended()
    return await load_saved_reply(reply)


def get_messages(upstream: FakeUpstream, number: int) -> list[Any]:
    messages: list[Any] = upstream.chat_requests[number].body["messages"]
    return messages


async def test_they_are_stored_and_sent_to_the_model(tab: Tab, upstream: FakeUpstream) -> None:
    message = await draw_images(tab, upstream)
    [round] = message.earlier_rounds
    [stored_run] = round["tool_runs"]
    assert "images" not in stored_run  # which a process of the previous version could not read
    [run] = message.rounds[0].tool_runs
    assert [image.position for image in run.images] == [FIRST_OF_TOOLS, FIRST_OF_TOOLS + 1]
    assert run.result.split("\n\n")[-2:] == ["[Image 3]", NO_IMAGE]
    assert message.extras.tool_image_count == 2
    _, _, result, follows, images = get_messages(upstream, 1)
    assert result["role"] == "tool"
    assert follows["role"] == "assistant"
    assert images["role"] == "user"
    text, *parts = images["content"]
    assert text["text"] == "The tool workshop__draw returned:"
    data = [b64decode(part["image_url"]["url"].partition(",")[2]) for part in parts]
    assert [open_image(image).size[0] for image in data] == [1568] * 2  # as attached images are
    stored_images = [
        image async for image in ReplyImage.objects.select_related("file").order_by("position")
    ]
    assert [open_image(image.read()).size for image in stored_images] == [(2048, 20), (2048, 21)]


async def test_the_next_prompt_sends_them_again(tab: Tab, upstream: FakeUpstream) -> None:
    message = await draw_images(tab, upstream)
    upstream.script(*answer("Yes."))
    await tab.ask("Sure?", conversation=str(message.conversation_id))
    await tab.until_ended()
    assert get_messages(upstream, 2)[1:5] == get_messages(upstream, 1)[1:]
    roles = [sent_message["role"] for sent_message in get_messages(upstream, 2)]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "user"]


async def test_they_are_shown_while_the_reply_runs_and_after_a_reload(
    tab: Tab, upstream: FakeUpstream, alices: Client
) -> None:
    message = await draw_images(tab, upstream)
    address = reverse("reply-image", args=[message.pk, FIRST_OF_TOOLS])
    page = await sync_to_async(lambda: alices.get(f"/c/{message.conversation_id}/"))()
    assert address in page.content.decode()
    assert address in unescape("".join(tab.frames))
    response = await sync_to_async(lambda: alices.get(address))()
    assert response.status_code == 200
    assert open_image(response.content).size == (2048, 20)


async def test_a_model_that_takes_no_images_reads_that_they_were_left_out(
    tab: Tab, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    saved_upstream.model_images = {MODEL: False}
    await saved_upstream.asave()
    await draw_images(tab, upstream)
    left_out = get_messages(upstream, 1)[-1]["content"]
    assert str(left_out).count("this model takes no images") == 2


async def test_a_model_that_refuses_them_is_asked_again_without(
    tab: Tab, upstream: FakeUpstream
) -> None:
    draws(upstream)
    message = "No endpoints found that support image input"
    upstream.fail(404, {"error": {"message": message, "code": 404}})
    upstream.script(*answer("Two lines."))
    reply = await tab.ask("Draw")
    await tab.until_ended()
    assert (await load_saved_reply(reply)).content == "Two lines."
    assert "image_url" in str(get_messages(upstream, 1))
    assert "image_url" not in str(get_messages(upstream, 2))


async def test_their_number_and_bytes_are_bounded(
    tab: Tab, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_images, "MAX_IMAGES", 1)
    message = await draw_images(tab, upstream, 3)
    result = message.earlier_rounds[0]["tool_runs"][0]["result"]
    assert result.endswith(
        "\n\n[Images 2 to 4 were left out: a reply has 16 images of tools at most.]"
    )
    assert message.extras.tool_image_count == 1
    monkeypatch.setattr(tool_images, "MAX_IMAGES", 16)
    monkeypatch.setattr(tool_images, "MAX_IMAGES_BYTES", 10)
    again = await draw_images(tab, upstream)
    assert again.extras.tool_image_count == 0
    assert "bytes at most" in again.earlier_rounds[0]["tool_runs"][0]["result"]


async def test_many_images_that_are_left_out_have_one_note(alice: User) -> None:
    images = [ToolImage(number, "") for number in range(1, 1001)]
    run_images, notes = await ToolImages(uuid4(), alice.pk).keep(images)
    assert not run_images
    assert len(notes) == MAX_IMAGES + 1
    assert notes[-1].startswith("[Images 17 to 1000 were left out: ")


def test_base64_may_have_line_breaks() -> None:
    lines = encodebytes(png(99, 99)).replace(b"\n", b"\r\n").decode()
    assert "\n" in lines.strip()
    assert tool_images.read_image(lines).width == 99


async def test_they_are_deleted_with_the_chat(tab: Tab, upstream: FakeUpstream) -> None:
    message = await draw_images(tab, upstream)
    names = [file.name async for file in StoredFile.objects.all()]
    assert len(names) == 2
    await sync_to_async(_delete_for_good)(message)
    assert not await StoredFile.objects.aexists()
    assert not any([await sync_to_async(storage.exists)(name) for name in names])


def _delete_for_good(message: Message) -> None:
    Conversation.objects.get(pk=message.conversation_id).erase_newest()
    Conversation.objects.filter(pk=message.conversation_id).delete()


async def test_retention_deletes_them_and_the_model_reads_that(
    tab: Tab, upstream: FakeUpstream
) -> None:
    message = await draw_images(tab, upstream)
    await sync_to_async(_expire)(message.pk)
    upstream.script(*answer("Yes."))
    await tab.ask("Sure?", conversation=str(message.conversation_id))
    await tab.until_ended()
    assert str(get_messages(upstream, 2)).count("deleted by the retention policy") == 2


def _expire(pk: UUID) -> None:
    ReplyImage.objects.filter(message=pk).delete()
    message = Message.objects.get(pk=pk)
    record = message.extras.without_images().as_record()
    Message.objects.filter(pk=pk).update(extras_record=record)
