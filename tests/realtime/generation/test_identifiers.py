"""The gateways that are told which chat and person a request is for, by hashes and nothing else."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from chatapp.models import Upstream
from chatapp.models.platform import upstreams
from chatapp.realtime.generation.identifiers import identifiers_for
from chatapp.upstream.wire.requests.gateways import gateway_at
from tests.realtime.generation.replies import load_saved_reply
from tests.support.fake_upstream import FakeUpstream
from tests.support.tab import Tab

OPENAI = "https://api.openai.com/v1"
ALICE, BOB = 7, 8
NAMES = {"prompt_cache_key", "safety_identifier"}


def build_identifiers(
    person: int = ALICE, chat: UUID | None = None, base_url: str = OPENAI, **settings: Any
) -> dict[str, str]:
    return identifiers_for(Upstream(base_url=base_url, **settings), "m", person, chat)


def test_a_chat_and_a_person_are_named_by_hashes() -> None:
    chat, other = uuid4(), uuid4()
    first = build_identifiers(chat=chat)
    assert first == build_identifiers(chat=chat)
    assert all(len(value) == 64 and value.isalnum() for value in first.values())
    assert first["safety_identifier"] == build_identifiers(chat=other)["safety_identifier"]
    assert first["prompt_cache_key"] != build_identifiers(chat=other)["prompt_cache_key"]
    assert first["safety_identifier"] != build_identifiers(BOB, chat)["safety_identifier"]
    assert first["prompt_cache_key"] == build_identifiers(BOB, chat)["prompt_cache_key"]
    assert build_identifiers().keys() == {"safety_identifier"}


def test_they_depend_on_the_servers_secret(settings: Any) -> None:
    before = build_identifiers()
    settings.SECRET_KEY = "another"
    assert build_identifiers() != before


@pytest.mark.parametrize(
    "base_url",
    ["http://127.0.0.1:9/v1", "https://openrouter.ai/api/v1", "https://api.openai.com.example/v1"],
)
def test_other_gateways_are_told_nothing(base_url: str) -> None:
    assert build_identifiers(chat=uuid4(), base_url=base_url) == {}


def test_an_administrators_own_and_what_was_refused_is_left_out() -> None:
    chat = uuid4()
    assert build_identifiers(chat=chat, parameters={"safety_identifier": "us"}).keys() == {
        "prompt_cache_key"
    }
    refused = {"m": {"prompt_cache_key": "2026-01-01T00:00:00+00:00"}}
    assert build_identifiers(chat=chat, parameter_refusals=refused).keys() == {"safety_identifier"}


@pytest.mark.django_db
async def test_replies_of_a_chat_have_the_same_key(
    tab: Tab, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tab.ask()
    await tab.until_ended()
    assert not NAMES & upstream.chat_requests[0].body.keys()
    monkeypatch.setattr(upstreams, "gateway_for", lambda _: gateway_at("api.openai.com"))
    message = await load_saved_reply(await tab.ask())
    await tab.until_ended()
    await tab.ask("Again", conversation=str(message.conversation_id))
    await tab.until_ended()
    first, second = (request.body for request in upstream.chat_requests[1:])
    assert first.keys() >= NAMES
    assert [first[name] == second[name] for name in NAMES] == [True, True]
    assert str(message.conversation_id) not in str(first)
