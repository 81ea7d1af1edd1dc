"""Which gateways are told apart chats and people, and that they learn nothing else."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from chatapp.models import Upstream
from chatapp.models.platform import upstreams
from chatapp.realtime.generation.identifiers import identifiers_for
from chatapp.upstream.wire.gateways import gateway_at
from tests.realtime.generation.replies import saved
from tests.support.fake_upstream import FakeUpstream
from tests.support.tab import Tab

OPENAI = "https://api.openai.com/v1"
ALICE, BOB = 7, 8
NAMES = {"prompt_cache_key", "safety_identifier"}


def told(
    person: int = ALICE, chat: UUID | None = None, base_url: str = OPENAI, **settings: Any
) -> dict[str, str]:
    return identifiers_for(Upstream(base_url=base_url, **settings), "m", person, chat)


def test_a_chat_and_a_person_are_named_by_hashes() -> None:
    chat, other = uuid4(), uuid4()
    first = told(chat=chat)
    assert first == told(chat=chat)
    assert all(len(value) == 64 and value.isalnum() for value in first.values())
    assert first["safety_identifier"] == told(chat=other)["safety_identifier"]
    assert first["prompt_cache_key"] != told(chat=other)["prompt_cache_key"]
    assert first["safety_identifier"] != told(BOB, chat)["safety_identifier"]
    assert first["prompt_cache_key"] == told(BOB, chat)["prompt_cache_key"]
    assert told().keys() == {"safety_identifier"}


def test_they_depend_on_the_servers_secret(settings: Any) -> None:
    before = told()
    settings.SECRET_KEY = "another"
    assert told() != before


@pytest.mark.parametrize(
    "base_url",
    ["http://127.0.0.1:9/v1", "https://openrouter.ai/api/v1", "https://api.openai.com.example/v1"],
)
def test_other_gateways_are_told_nothing(base_url: str) -> None:
    assert told(chat=uuid4(), base_url=base_url) == {}


def test_an_administrators_own_and_what_was_refused_is_left_out() -> None:
    chat = uuid4()
    assert told(chat=chat, parameters={"safety_identifier": "us"}).keys() == {"prompt_cache_key"}
    refused = {"m": {"prompt_cache_key": "2026-01-01T00:00:00+00:00"}}
    assert told(chat=chat, parameter_refusals=refused).keys() == {"safety_identifier"}


@pytest.mark.django_db
async def test_replies_of_a_chat_have_the_same_key(
    tab: Tab, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tab.ask()
    await tab.until_ended()
    assert not NAMES & upstream.chat_requests[0].body.keys()
    monkeypatch.setattr(upstreams, "gateway_for", lambda _: gateway_at("api.openai.com"))
    message = await saved(await tab.ask())
    await tab.until_ended()
    await tab.ask("Again", conversation=str(message.conversation_id))
    await tab.until_ended()
    first, second = (request.body for request in upstream.chat_requests[1:])
    assert first.keys() >= NAMES
    assert [first[name] == second[name] for name in NAMES] == [True, True]
    assert str(message.conversation_id) not in str(first)
