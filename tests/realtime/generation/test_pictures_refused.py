"""A model refuses images that are only pictures of a document: it is asked again without them."""

import pytest
from channels.db import database_sync_to_async

from chatapp.documents import Document, Picture, PlacedPicture
from chatapp.models import Fallback, ModelChoice, Upstream, User
from chatapp.upstream.wire.requests.content import PICTURE_LEFT_OUT
from tests.realtime.generation.replies import load_saved_reply
from tests.support.attaching import draft_file
from tests.support.fake_upstream import MODEL, FakeUpstream, answer
from tests.support.pictures import png
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db

REFUSAL = {"error": {"message": "This model does not support image input.", "code": 400}}
PICTURE = Picture("image/png", 9, 9, png(9, 9), png(4, 4))
REPORT = Document(
    "application/pdf", "PDF", "", ("Before [Picture 1]",), (PlacedPicture(0, 18, PICTURE),)
)


async def test_it_answers_without_the_pictures(
    tab: Tab, alice: User, upstream: FakeUpstream
) -> None:
    report = await database_sync_to_async(draft_file)(alice, "report.pdf", REPORT)
    upstream.fail(400, REFUSAL)
    upstream.script(*answer("I see."))
    reply = await tab.ask("Read it", attached=str(report.pk))
    await tab.until_ended()
    assert (await load_saved_reply(reply)).content == "I see."
    refused, answered = (str(request.body["messages"]) for request in upstream.chat_requests)
    assert "image_url" in refused
    assert "image_url" not in answered
    assert PICTURE_LEFT_OUT in answered
    connected = await Upstream.objects.aget()
    assert connected.takes_images("google/gemini-3-flash") is False


async def test_an_attached_image_still_fails(tab: Tab, alice: User, upstream: FakeUpstream) -> None:
    store = database_sync_to_async(draft_file)
    files = [await store(alice, "report.pdf", REPORT), await store(alice, "a.png", PICTURE)]
    upstream.fail(400, REFUSAL)
    reply = await tab.ask("Read it", attached="\n".join(str(file.pk) for file in files))
    await tab.until_ended()
    message = await load_saved_reply(reply)
    assert message.error
    assert message.error["kind"] == "no_images"
    assert len(upstream.chat_requests) == 1


async def test_the_refusal_is_remembered_of_the_model_that_refused(
    tab: Tab, alice: User, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    report = await database_sync_to_async(draft_file)(alice, "report.pdf", REPORT)
    with FakeUpstream() as spare:
        second = await Upstream.objects.acreate(
            name="Second", base_url=spare.base_url, offered_models="small"
        )
        choices = [ModelChoice(second.pk, "small")]
        await database_sync_to_async(Fallback.replace)(saved_upstream, MODEL, choices)
        upstream.fail(400, REFUSAL)
        upstream.fail(429, {"error": {"message": "busy"}}, {"retry-after": "30"})
        reply = await tab.ask("Read it", attached=str(report.pk))
        await tab.until_ended()
    assert (await load_saved_reply(reply)).model == "small"
    await saved_upstream.arefresh_from_db()
    await second.arefresh_from_db()
    assert saved_upstream.takes_images(MODEL) is False
    assert second.takes_images("small") is None
