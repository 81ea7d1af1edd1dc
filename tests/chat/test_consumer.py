"""A tab's socket: who may open it, what it accepts, and how closing it affects its replies."""

import pytest
from channels.db import database_sync_to_async
from django.test import Client
from pytest_django import Settings

from chatapp.close_codes import CloseCode
from chatapp.models import Conversation, Usage, User
from chatapp.realtime.worker import worker
from tests.support.fake_upstream import FakeUpstream, Pause, Stall, delta, done, finish, role
from tests.support.stored import load_reply
from tests.support.tab import Tab

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("origin", ["", "https://evil.example", "http://localhost:9999", "null"])
async def test_a_socket_from_another_origin_is_refused(
    alices: Client, generations_end: None, origin: str
) -> None:
    assert not await Tab(alices, origin=origin).connect()


async def test_a_socket_without_a_session_is_refused(generations_end: None, db: None) -> None:
    assert not await Tab(Client()).connect()


async def test_signing_out_closes_the_tabs_of_the_session(tab: Tab, alices: Client) -> None:
    await database_sync_to_async(alices.post)("/accounts/logout/")
    assert await tab.until_closed() == 4401


async def test_a_deactivated_person_cannot_send_prompts(tab: Tab, alice: User) -> None:
    await User.objects.filter(pk=alice.pk).aupdate(is_active=False)  # sends no signal
    await tab.send(action="prompt", message="Hello")
    await tab.until("has been deactivated")


async def test_a_deactivated_person_gets_a_close_code_and_a_signed_out_one_is_rejected(
    alice: User, alices: Client, generations_end: None
) -> None:
    await User.objects.filter(pk=alice.pk).aupdate(is_active=False)
    tab = Tab(alices)
    assert await tab.connect()
    assert await tab.until_closed() == CloseCode.DEACTIVATED
    await User.objects.filter(pk=alice.pk).aupdate(is_active=True)
    await database_sync_to_async(alices.session.flush)()
    assert not await Tab(alices).connect()


async def test_closing_the_tab_closes_the_upstream_and_keeps_the_text_so_far(
    tab: Tab, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("Half of it"), Stall())
    reply = await tab.ask()
    await tab.until("Half of it")
    request = await upstream.until_requested()
    await tab.close(1001)
    await request.until_closed()
    await worker().until_saved()
    message = await load_reply(reply)
    assert (message.ending, message.content) == ("abandoned", "Half of it")
    assert message.usage.provenance == Usage.Provenance.ESTIMATED


async def test_a_reply_is_finished_after_its_tab_was_closed_if_the_person_wants_that(
    tab: Tab, alice: User, upstream: FakeUpstream
) -> None:
    await User.objects.filter(pk=alice.pk).aupdate(finishes_replies=True)
    pause = Pause()
    upstream.script(role(), delta("Half of it"), pause, delta(", and the rest"), finish(), done())
    reply = await tab.ask()
    await tab.until("Half of it")
    await tab.close(1001)
    pause.release()
    await worker().until_saved()
    message = await load_reply(reply)
    assert (message.ending, message.content) == ("complete", "Half of it, and the rest")
    assert await Conversation.objects.filter(is_unread=True).aexists()


async def test_a_temporary_chat_stops_with_its_tab_even_if_the_person_finishes_replies(
    tab: Tab, alice: User, upstream: FakeUpstream
) -> None:
    await User.objects.filter(pk=alice.pk).aupdate(finishes_replies=True)
    upstream.script(role(), delta("Half of it"), Stall())
    await tab.ask(temporary="on")
    request = await upstream.until_requested()
    await tab.close(1001)
    await request.until_closed()


async def test_signing_out_stops_replies_that_would_be_finished(
    tab: Tab, alice: User, alices: Client, upstream: FakeUpstream
) -> None:
    await User.objects.filter(pk=alice.pk).aupdate(finishes_replies=True)
    upstream.script(role(), delta("Half of it"), Stall())
    await tab.ask()
    request = await upstream.until_requested()
    await tab.close(1001)
    await database_sync_to_async(alices.post)("/accounts/logout/")
    await request.until_closed()


async def test_a_lost_connection_closes_the_upstream_after_its_own_grace_period(
    tab: Tab, upstream: FakeUpstream, settings: Settings
) -> None:
    settings.CHATAPP_CLOSE_GRACE = 60.0
    upstream.script(role(), delta("Half of it"), Stall())
    await tab.ask()
    request = await upstream.until_requested()
    await tab.close(1006)
    await request.until_closed()


@pytest.mark.parametrize("text", ["not json", "[]", "{}", '{"action": "prompt"}', "null"])
async def test_a_malformed_message_shows_a_problem(tab: Tab, text: str) -> None:
    await tab.send_text(text)
    assert 'id="problem"' in await tab.until("problem")


async def test_a_failing_action_shows_a_problem_and_keeps_the_tab_open(
    tab: Tab, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(title: str) -> str:
        raise ArithmeticError(title)

    with monkeypatch.context() as patched:
        patched.setattr(Conversation, "build_title", fail)
        await tab.send(action="prompt", message="Hello")
        assert "Something went wrong" in await tab.until('id="problem"')
    await tab.ask()
    assert await tab.until_ended()
