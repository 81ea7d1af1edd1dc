"""Pages of the chat: who may see them, and what they show."""

from math import inf
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.db.models.sql.compiler import SQLCompiler
from django.test import AsyncClient, Client

from chatapp.models import (
    AccessRule,
    Conversation,
    Installation,
    Message,
    Suggestion,
    Upstream,
    User,
)
from chatapp.models.billing import prices
from chatapp.models.platform.upstreams import DEMO
from chatapp.realtime.worker import worker
from tests.support.fake_upstream import FakeUpstream, Pause, Script
from tests.support.page import parse
from tests.support.stored import build_reply, end

pytestmark = pytest.mark.django_db


CLOSING = "A reply stops when you close its tab."
ANYWHERE = "/c/3f2b8f5e-7c1d-4a53-9c54-0f6f0d2a9b11/"


@pytest.fixture
async def alices(alice: User, generations_end: None, connections_close: None) -> AsyncClient:
    """Alice's browser on the test's event loop, which the upstream's client needs."""
    return await browser(alice)


@pytest.fixture
async def bobs(bob: User, generations_end: None, connections_close: None) -> AsyncClient:
    return await browser(bob)


@pytest.fixture
async def olives(olive: User, generations_end: None, connections_close: None) -> AsyncClient:
    return await browser(olive)


async def browser(user: User) -> AsyncClient:
    client = AsyncClient()
    await client.aforce_login(user)
    return client


@pytest.fixture
def conversation(alice: User, saved_upstream: Upstream) -> Conversation:
    """Alice's conversation with one complete reply."""
    conversation = alice.conversations.create(title="The sky")
    _, reply = conversation.ask(
        uuid4(), "Why is it *blue*?", None, saved_upstream, "some-model", uuid4()
    )
    end(reply, build_reply("It **scatters**."))
    return conversation


@pytest.mark.parametrize(("path", "is_packed"), [("/", True), ("/search/?q=sky", False)])
async def test_a_page_that_reflects_its_url_is_not_compressed(
    alices: AsyncClient, path: str, is_packed: bool
) -> None:
    packed = await alices.get(path, headers={"Accept-Encoding": "gzip"})
    assert packed.get("Content-Encoding") == ("gzip" if is_packed else None)
    assert "Content-Encoding" not in await alices.get(path)


async def test_a_page_compiles_its_sql_only_once(
    alices: AsyncClient, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[object] = []
    build = SQLCompiler.as_sql

    def count_build(self: SQLCompiler, *options: Any, **more: Any) -> Any:
        built.append(self.query.model)
        return build(self, *options, **more)

    monkeypatch.setattr(prices, "FRESH_SECONDS", inf)  # or they are read again between the two
    await worker().catalogue.offers(wait_for_all=True)
    await worker().catalogue.wait_for_callbacks()  # or a new list makes the pages read them again
    for path in ("/", conversation.get_absolute_url()):
        assert (await alices.get(path)).status_code == 200
        with monkeypatch.context() as patched:
            patched.setattr(SQLCompiler, "as_sql", count_build)
            assert (await alices.get(path)).status_code == 200
    assert built == []


@pytest.mark.parametrize(
    "path", ["/", ANYWHERE, "/conversations/", "/help/", "/accounts/password/change/"]
)
def test_every_page_requires_a_session(db: None, path: str) -> None:
    answer = Client(headers={"host": "localhost"}).get(path)
    assert answer.status_code == 302
    assert answer.headers["location"].startswith("/accounts/login/?next=")


@pytest.mark.parametrize("path", ["/", "/conversations/", "/help/", "/healthz", "/readyz"])
async def test_pages_accept_only_get(alices: AsyncClient, path: str) -> None:
    assert (await alices.post(path)).status_code == 405


async def test_a_conversation_shows_its_messages(
    alices: AsyncClient, conversation: Conversation
) -> None:
    page = (await alices.get(conversation.get_absolute_url())).content.decode()
    assert "*blue*" in page
    assert "<strong>scatters</strong>" in page
    assert 'data-ending="complete"' in page
    head = await Message.objects.aget(role="assistant")
    seen = f"conversation={conversation.pk}&amp;head={head.pk}&amp;ending=complete"
    assert f'hx-ws:connect="/ws/?{seen}"' in page


async def test_bob_cannot_find_alices_conversation(
    bobs: AsyncClient, conversation: Conversation
) -> None:
    assert (await bobs.get(conversation.get_absolute_url())).status_code == 404
    assert "The sky" not in (await bobs.get("/")).content.decode()
    assert "The sky" not in (await bobs.get("/conversations/")).content.decode()


async def test_even_an_administrator_cannot_open_it_in_the_chat(
    olives: AsyncClient, conversation: Conversation
) -> None:
    assert (await olives.get(conversation.get_absolute_url())).status_code == 404


async def test_in_app_navigation_gets_only_the_conversation(
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


async def test_the_upstreams_models_can_be_chosen(
    alices: AsyncClient, saved_upstream: Upstream
) -> None:
    page = (await alices.get("/")).content.decode()
    value = f"{saved_upstream.pk}/google/gemini-3-flash"
    assert f'<option hx-ignore value="{value}" selected>google/gemini-3-flash</option>' in page


async def test_without_an_upstream_the_page_says_what_to_do(alices: AsyncClient) -> None:
    page = (await alices.get("/")).content.decode()
    assert "No model is connected. Ask an administrator to connect one." in page
    assert "/settings/models/" not in page
    assert '<option value="" selected>No model</option>' in page


@pytest.mark.parametrize("path", ["/", "/models/"])
async def test_without_access_people_learn_whom_to_ask_and_administrators_where_to_grant_it(
    alices: AsyncClient, olives: AsyncClient, saved_upstream: Upstream, path: str
) -> None:
    await AccessRule.objects.acreate(upstream=saved_upstream)  # nobody's
    to_ask = "You don't have access to any model. Ask your administrator for one."
    for browser, beginning in (
        (alices, to_ask),
        (olives, "You don't have access to any model. Choose who"),
    ):
        offers = parse((await browser.get(path)).content.decode()).find(id="offers")
        assert " ".join(offers.text.split()).startswith(beginning)
        links = [link.attributes["href"] for link in offers.find_all("a")]
        assert links == (["/people/groups/#given-title"] if browser is olives else [])
    saved_upstream.enabled = False
    await saved_upstream.asave()
    offers = parse((await alices.get(path)).content.decode()).find(id="offers")
    assert "No model is connected. Ask an administrator to connect one." in offers.text


async def test_a_failed_model_list_is_reported_without_the_key(
    alices: AsyncClient, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    upstream.fail_models(401, {"error": {"message": "bad key sk-very-secret"}})
    page = (await alices.get("/")).content.decode()
    assert "Fake did not list its models" in page
    assert "name its models." in page
    assert "sk-very-secret" not in page


async def test_a_refusal_without_a_message_is_reported_by_its_status(
    alices: AsyncClient, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    upstream.fail_models(404, {})
    page = (await alices.get("/")).content.decode()
    assert "Fake did not list its models (it answered 404)." in page


async def test_an_upstream_without_models_is_reported(
    alices: AsyncClient, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    upstream.models = []
    assert "Fake lists no models." in (await alices.get("/")).content.decode()


async def test_named_models_are_offered_without_waiting_for_the_upstream(
    alices: AsyncClient, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    upstream.models_failure = Script((Pause(),))  # it never answers
    await Upstream.objects.aupdate(offered_models="one\ntwo = The second")
    page = (await alices.get("/")).content.decode()
    assert f'value="{saved_upstream.pk}/one"' in page
    assert f'value="{saved_upstream.pk}/two">The second</option>' in page
    assert 'hx-trigger="load"' not in page  # no list is awaited


async def test_a_new_chat_starts_with_the_administrators_model(
    alices: AsyncClient, alice: User, saved_upstream: Upstream, upstream: FakeUpstream
) -> None:
    upstream.models = ["one", "two", "three"]
    await Installation.objects.acreate(pk=1, default_upstream=saved_upstream, default_model="two")

    async def read_chosen_model(path: str = "/") -> str:
        page = parse((await alices.get(path)).content.decode())
        [option] = page.find_all("select[name=model] option[selected]")
        return option.text

    assert await read_chosen_model() == await read_chosen_model("/models/") == "two"
    conversation = await alice.conversations.acreate(title="Asked")
    await sync_to_async(conversation.ask)(uuid4(), "Why?", None, saved_upstream, "three", uuid4())
    assert await read_chosen_model() == await read_chosen_model("/models/") == "three"
    await alice.conversations.all().adelete()
    await Installation.objects.aupdate(default_model="gone")
    assert await read_chosen_model() == "one"


async def test_the_notice_is_shown_as_text_on_each_new_chat(
    alices: AsyncClient, conversation: Conversation
) -> None:
    assert 'class="notice"' not in (await alices.get("/")).content.decode()
    await Installation.objects.acreate(pk=1, notice="Down at noon\n<b hx-get=/>ask</b>")
    [notice] = parse((await alices.get("/")).content.decode()).find_all(class_="notice")
    assert notice.text == "Down at noon\n<b hx-get=/>ask</b>"
    page = (await alices.get(conversation.get_absolute_url())).content.decode()
    assert "Down at noon" not in page


async def test_the_administrators_suggestions_replace_the_demos(
    alices: AsyncClient, saved_upstream: Upstream
) -> None:
    page = (await alices.get("/")).content.decode()
    assert "data-suggestion" not in page
    assert "planets" not in page
    await Suggestion.objects.acreate(text="Translate a <letter>", position=2)
    await Suggestion.objects.acreate(text="Find a fault", position=1)
    page = (await alices.get("/")).content.decode()
    assert [button.text for button in parse(page).find_all(data_suggestion="")] == [
        "Find a fault",
        "Translate a <letter>",
    ]


async def test_the_demos_suggestions_appear_only_in_the_demo(
    alices: AsyncClient, saved_upstream: Upstream
) -> None:
    await Upstream.objects.aupdate(name=DEMO, from_environment=True)
    assert "planets" in (await alices.get("/")).content.decode()
    await Upstream.objects.acreate(name="Real", base_url="http://127.0.0.1:9/v1")
    assert "planets" not in (await alices.get("/")).content.decode()


async def test_help_is_shown(alices: AsyncClient) -> None:
    assert "Stopping a reply" in (await alices.get("/help/")).content.decode()


async def test_only_administrators_see_how_to_run_the_server(
    alices: AsyncClient, olives: AsyncClient
) -> None:
    assert "OPENAI_BASE_URL" in (await olives.get("/help/administrators/")).content.decode()
    assert (await alices.get("/help/administrators/")).status_code == 403
    theirs = (await alices.get("/help/")).content.decode().lower()
    assert not [word for word in ("upstream", "dialect", "openai_base_url") if word in theirs]
    assert "administrators/" not in theirs


async def test_the_first_new_chat_says_what_closing_the_tab_does(
    alice: User, alices: AsyncClient, saved_upstream: Upstream
) -> None:
    assert CLOSING in (await alices.get("/")).content.decode()
    await User.objects.filter(pk=alice.pk).aupdate(finishes_replies=True)
    assert CLOSING not in (await alices.get("/")).content.decode()
    await User.objects.filter(pk=alice.pk).aupdate(finishes_replies=False)
    conversation = await Conversation.objects.acreate(user=alice, title="One")
    await conversation.messages.acreate(
        role="assistant", upstream=saved_upstream, model="m", ending="complete"
    )
    assert CLOSING not in (await alices.get("/")).content.decode()
