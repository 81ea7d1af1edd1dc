"""Attached images on their way to the upstream: sent, reserved for, refused and remembered."""

from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.test import Client

from chatapp.models import Limit, Message, ModelChoice, Prompt, Upstream, User
from chatapp.upstream.wire.requests.image_tokens import image_tokens
from tests.support.attaching import upload
from tests.support.fake_upstream import FakeUpstream
from tests.support.pictures import png
from tests.support.stored import MODEL
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db


async def test_an_attached_image_is_sent_before_the_prompt(
    tab: Tab, alices: Client, upstream: FakeUpstream
) -> None:
    picture = await database_sync_to_async(upload)(alices, "a.png", png(20, 10))
    await tab.ask("What is this?", attached=str(picture.pk))
    await tab.until_ended()
    [request] = upstream.chat_requests
    image, prompt = request.body["messages"][0]["content"]
    assert image["image_url"]["url"].startswith("data:image/png;base64,")
    assert prompt == {"type": "text", "text": "What is this?"}


def test_the_tokens_of_an_image_are_reserved(
    alice: User, alices: Client, saved_upstream: Upstream
) -> None:
    Limit.objects.create(measure="tokens", cap=10**6)
    model = ModelChoice(saved_upstream.pk, MODEL)
    without = Prompt("Look", model).store(alice, uuid4())
    picture = upload(alices, "a.png", png(1000, 700))
    turn = Prompt("Look", model, files=[picture.pk]).store(alice, uuid4())
    assert turn.reservation
    assert without.reservation
    reserved = turn.reservation.prompt - without.reservation.prompt
    assert 0 <= reserved - image_tokens(1000, 700).upper < 20


async def test_a_refused_image_offers_other_models_and_marks_this_one(
    tab: Tab, alices: Client, upstream: FakeUpstream
) -> None:
    message = "No endpoints found that support image input"
    upstream.fail(404, {"error": {"message": message}})
    picture = await database_sync_to_async(upload)(alices, "a.png", png(20, 10))
    await tab.ask("What is this?", attached=str(picture.pk))
    ending = await tab.until_ended()
    assert "This model takes no images. Your message and its files are kept." in ending
    assert "Answer with…" in ending
    assert message in ending
    reply = await Message.objects.select_related("upstream").aget(role="assistant")
    assert reply.upstream
    assert reply.upstream.takes_images(reply.model) is False
    page = (await database_sync_to_async(alices.get)("/")).content.decode()
    assert 'data-images="no"' in page
