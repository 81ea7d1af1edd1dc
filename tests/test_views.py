"""Pages: who may see them, and what they show."""

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    connection,
    connections,
)
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpResponse
from django.test import AsyncClient, Client

from chatapp import readiness, views
from chatapp.generation import Generations, generations
from chatapp.models import Conversation, Message, Upstream, User
from tests.fake_upstream import FakeUpstream
from tests.live import WAIT_SECONDS
from tests.stored import end, reply_of

pytestmark = pytest.mark.django_db(transaction=True)

ANYWHERE = "/c/3f2b8f5e-7c1d-4a53-9c54-0f6f0d2a9b11/"


@pytest.fixture
async def connections_close() -> AsyncIterator[None]:
    """Django's test client leaves the connection of the views' thread open."""
    yield
    await sync_to_async(connections.close_all)()


@pytest.fixture
async def alices(alice: User, generations_end: None, connections_close: None) -> AsyncClient:
    """Alice's browser, on the test's own event loop, as the upstream's client wants it."""
    return await browser(alice)


@pytest.fixture
async def bobs(bob: User, generations_end: None, connections_close: None) -> AsyncClient:
    return await browser(bob)


@pytest.fixture
async def olives(olive: User, generations_end: None, connections_close: None) -> AsyncClient:
    return await browser(olive)


@pytest.fixture
def anyone(db: None, generations_end: None, connections_close: None) -> AsyncClient:
    """A browser, or a machine, that is not signed in."""
    return AsyncClient(headers={"host": "localhost"})


async def browser(user: User) -> AsyncClient:
    client = AsyncClient()
    await client.aforce_login(user)
    return client


@pytest.fixture
def conversation(alice: User, connected: Upstream) -> Conversation:
    """Alice's, with one reply that is complete."""
    conversation = alice.conversations.create(title="The sky")
    _, reply = conversation.ask(
        uuid4(), "Why is it *blue*?", None, connected, "some-model", uuid4()
    )
    end(reply, reply_of("It **scatters**."))
    return conversation


@pytest.mark.parametrize(
    "path", ["/", ANYWHERE, "/conversations/", "/help/", "/accounts/password/change/"]
)
def test_every_page_wants_a_session(db: None, path: str) -> None:
    answer = Client(headers={"host": "localhost"}).get(path)
    assert answer.status_code == 302
    assert answer.headers["location"].startswith("/accounts/login/?next=")


@pytest.mark.parametrize("path", ["/", "/conversations/", "/help/", "/healthz", "/readyz"])
async def test_pages_are_only_read(alices: AsyncClient, path: str) -> None:
    assert (await alices.post(path)).status_code == 405


async def test_a_conversation_shows_its_messages(
    alices: AsyncClient, conversation: Conversation
) -> None:
    page = (await alices.get(conversation.get_absolute_url())).content.decode()
    assert "<em>blue</em>" in page
    assert "<strong>scatters</strong>" in page
    assert 'data-ending="complete"' in page
    head = await Message.objects.aget(role="assistant")
    seen = f"conversation={conversation.pk}&amp;head={head.pk}&amp;ending=complete"
    assert f'hx-ws:connect="/ws/?{seen}"' in page


async def test_bob_does_not_find_alices_conversation(
    bobs: AsyncClient, conversation: Conversation
) -> None:
    assert (await bobs.get(conversation.get_absolute_url())).status_code == 404
    assert "The sky" not in (await bobs.get("/")).content.decode()
    assert "The sky" not in (await bobs.get("/conversations/")).content.decode()


async def test_not_even_an_administrator_finds_it_in_the_chat(
    olives: AsyncClient, conversation: Conversation
) -> None:
    assert (await olives.get(conversation.get_absolute_url())).status_code == 404


async def test_in_app_navigation_gets_the_conversation_alone(
    alices: AsyncClient, conversation: Conversation
) -> None:
    path = conversation.get_absolute_url()
    part = (await alices.get(path, headers={"HX-Request": "true"})).content.decode()
    assert "<strong>scatters</strong>" in part
    assert "<html" not in part
    assert 'aria-label="Conversations" class="conversations"' not in part
    restored = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
    assert "<html" in (await alices.get(path, headers=restored)).content.decode()


async def test_the_sidebar_lists_the_newest_first(alices: AsyncClient, alice: User) -> None:
    await alice.conversations.acreate(title="Older")
    await alice.conversations.acreate(title="Newer <b>")
    listed = (await alices.get("/conversations/")).content.decode()
    assert listed.index("Newer &lt;b&gt;") < listed.index("Older")
    assert "<html" not in listed


async def test_the_upstreams_models_can_be_chosen(alices: AsyncClient, connected: Upstream) -> None:
    page = (await alices.get("/")).content.decode()
    value = f"{connected.pk}/google/gemini-3-flash"
    assert f'<option hx-ignore value="{value}" selected>google/gemini-3-flash</option>' in page


async def test_without_an_upstream_the_page_says_what_to_do(alices: AsyncClient) -> None:
    page = (await alices.get("/")).content.decode()
    assert "No model is connected. An administrator can add one." in page
    assert "/admin/" not in page
    assert '<option value="" selected>No model</option>' in page


async def test_models_that_cannot_be_listed_are_told_without_the_key(
    alices: AsyncClient, connected: Upstream, upstream: FakeUpstream
) -> None:
    upstream.fail_models(401, {"error": {"message": "bad key sk-very-secret"}})
    page = (await alices.get("/")).content.decode()
    assert "Fake did not list its models" in page
    assert "name its models." in page
    assert "sk-very-secret" not in page


async def test_a_refusal_without_a_word_is_told_by_its_status(
    alices: AsyncClient, connected: Upstream, upstream: FakeUpstream
) -> None:
    upstream.fail_models(404, {})
    page = (await alices.get("/")).content.decode()
    assert "Fake did not list its models (it answered 404)." in page


async def test_an_upstream_without_models_is_told(
    alices: AsyncClient, connected: Upstream, upstream: FakeUpstream
) -> None:
    upstream.models = []
    assert "Fake lists no models." in (await alices.get("/")).content.decode()


async def test_named_models_are_offered_unasked(
    alices: AsyncClient, connected: Upstream, upstream: FakeUpstream
) -> None:
    await Upstream.objects.aupdate(offered_models="one\ntwo")
    page = (await alices.get("/")).content.decode()
    assert f'value="{connected.pk}/two"' in page
    assert upstream.requests == []


async def test_help_is_shown(alices: AsyncClient) -> None:
    assert "OPENAI_BASE_URL" in (await alices.get("/help/")).content.decode()


# Probes


async def test_the_probes_answer_without_a_session(anyone: AsyncClient) -> None:
    assert (await anyone.get("/healthz")).content == b"ok"
    ready = await anyone.get("/readyz")
    assert ready.status_code == 200
    redis = True if settings.REDIS_URL else None
    parts = {"database": True, "redis": redis, "migrations": True, "draining": False}
    assert ready.json() == parts


def test_healthz_asks_no_database(
    db: None, django_assert_num_queries: Callable[[int], AbstractContextManager[object]]
) -> None:
    with django_assert_num_queries(0):
        assert Client(headers={"host": "localhost"}).get("/healthz").status_code == 200


class Away:
    """A connection to a database that is gone."""

    def cursor(self) -> None:
        raise DatabaseError("gone")

    def close(self) -> None:
        pass


async def test_a_database_that_is_away_makes_it_unready_and_not_dead(
    anyone: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "connection", Away())
    assert (await anyone.get("/healthz")).status_code == 200
    ready = await anyone.get("/readyz")
    assert (ready.status_code, ready.json()["database"]) == (503, False)


async def test_a_database_that_hangs_does_not_hang_the_probe(
    anyone: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    monkeypatch.setattr(readiness, "LONGEST_WAIT", 0.05)
    monkeypatch.setattr(readiness, "_look_at_database", lambda: answers.wait(WAIT_SECONDS) or True)
    try:
        for _ in range(3):
            ready = await anyone.get("/readyz")
            assert (ready.status_code, ready.json()["database"]) == (503, False)
            assert not answers.is_set()
    finally:
        answers.set()
    monkeypatch.undo()
    assert (await anyone.get("/readyz")).status_code == 200


async def test_a_migration_to_come_makes_it_unready(
    anyone: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "_is_migrated", False)
    applied = MigrationRecorder.Migration.objects.filter(app="chatapp").order_by("-pk")
    last = await applied.afirst()
    await last.adelete()
    ready = await anyone.get("/readyz")
    assert (ready.status_code, ready.json()["migrations"]) == (503, False)
    last.pk = None
    await last.asave()
    await sync_to_async(MigrationRecorder(connection).record_applied)("chatapp", "9999_newer")
    try:
        assert (await anyone.get("/readyz")).json()["migrations"] is True
    finally:
        await applied.filter(name="9999_newer").adelete()


async def test_a_draining_server_is_unready(anyone: AsyncClient) -> None:
    generations().is_draining = True
    ready = await anyone.get("/readyz")
    assert (ready.status_code, ready.json()["draining"]) == (503, True)


async def test_without_redis_it_is_unready_to_whoever_minds(
    anyone: AsyncClient, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:9"
    monkeypatch.setattr(Generations, "layer_answers", False)
    ready = await anyone.get("/readyz")
    assert (ready.status_code, ready.json()["redis"]) == (503, False)
    ready = await anyone.get("/readyz?exclude=draining&exclude=redis")
    assert (ready.status_code, ready.json()["redis"]) == (200, False)


# Metrics


async def test_metrics_are_not_there_until_there_is_a_token(
    anyone: AsyncClient, settings: Any
) -> None:
    settings.CHATAPP_METRICS_TOKEN = ""
    answer = await anyone.get("/metrics", headers={"Authorization": "Bearer "})
    assert answer.status_code == 404


@pytest.mark.parametrize("said", ["", "Bearer ", "Bearer s3cre", "Basic s3cret", "s3cret", "ü"])
async def test_metrics_want_the_token(anyone: AsyncClient, settings: Any, said: str) -> None:
    settings.CHATAPP_METRICS_TOKEN = "s3cret"
    answer = await anyone.get("/metrics", headers={"Authorization": said})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert b"chatapp_" not in answer.content


async def test_metrics_show_whoever_says_the_token_what_this_process_counts(
    anyone: AsyncClient, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CHATAPP_METRICS_TOKEN = "s3cret"
    said = {"Authorization": "Bearer s3cret"}
    answer = await anyone.get("/metrics", headers=said)
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    assert {"chatapp_database_up 1.0", "chatapp_layer_up 1.0"} <= set(lines_of(answer))
    monkeypatch.setattr(readiness, "connection", Away())
    answer = await anyone.get("/metrics", headers=said)
    assert "chatapp_database_up 0.0" in lines_of(answer)


def lines_of(answer: HttpResponse) -> list[str]:
    return answer.content.decode().splitlines()


# While the database is away


@pytest.mark.parametrize("error", [OperationalError("gone"), InterfaceError("closed")])
async def test_a_page_without_its_database_is_a_calm_503(
    alices: AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    def fail(*args: object) -> None:
        raise error

    monkeypatch.setattr(views, "_sidebar", fail)
    answer = await alices.get("/conversations/")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
    page = answer.content.decode()
    assert "The database can't be reached" in page.replace("&#x27;", "'")
    assert '<meta http-equiv="refresh" content="10">' in page
    told = [record for record in caplog.records if record.name == "chatapp.database_away"]
    assert [record.getMessage() for record in told] == [f"The database can't be reached: {error}"]
    assert not any(record.exc_info for record in caplog.records)


async def test_a_mistake_of_ours_with_the_database_stays_a_500(
    alices: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise IntegrityError("twice")

    monkeypatch.setattr(views, "_sidebar", fail)
    alices.raise_request_exception = False
    assert (await alices.get("/conversations/")).status_code == 500
