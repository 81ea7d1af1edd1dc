"""What the archive of one's own has of each table in which something of a person stands.

A field or table that is new is in neither list, and fails here until it is.
"""

import json
import re
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.apps import apps
from django.db import models
from django.test import Client
from django.utils import timezone

from chatapp.models import Conversation, Feedback, Message, Upstream, Usage, User
from tests.staff.privacy.test_privacy import unpacked
from tests.support.page import parse
from tests.support.stored import answered, end, reply_of

pytestmark = pytest.mark.django_db

# Each field of the archive's, with what of the table stands in it; then what is left out.
SAID: dict[str, dict[str, set[str]]] = {
    "chatapp.Conversation": {
        "conversations.jsonl": {
            "id", "title", "created_at", "updated_at", "project", "archived_at", "trashed_at",
            "is_pinned", "is_temporary",
        },
        "": {  # whose all of it is, what the page remembers, who made the title, the copies
            "user", "indexed_title", "titled_by", "active_leaf", "is_unread", "stored_bytes",
        },
    },
    "chatapp.Message": {
        "conversations.jsonl": {
            "id", "parent", "role", "created_at", "deleted_at", "is_continuation", "content",
            "reasoning", "refusal", "tool_runs", "earlier_rounds", "extras_record", "upstream",
            "model", "choice", "ending", "finish_reason", "moderation", "time_to_first_token",
            "reasoning_duration", "duration",
        },
        "": {  # where it stands, how it is written, and what its upstream says of itself
            "conversation", "sequence", "slot", "indexed_at", "streamed_by", "usage_so_far",
            "response_id", "error", "service_tier", "system_fingerprint", "is_flagged",
            "logprobs",  # of the model: many times as large as the text
        },
    },
    "chatapp.Feedback": {
        "conversations.jsonl": {"message", "rating", "note", "given_at"},
    },
    "chatapp.ReplyImage": {
        "images/": {"message", "position", "media_type", "data"},
        "": {"id"},
    },
    "chatapp.Usage": {
        "usage.csv": {
            "upstream_name", "model", "kind", "booked_at", "ending", "first_token_ms",
            "duration_ms", "provenance", "prompt_tokens", "completion_tokens", "total_tokens",
            "cached_tokens", "reasoning_tokens", "cost",
        },
        "": {  # counts of few gateways, bounds of estimates, and by what it is found and priced
            "message", "user", "upstream", "day", "cache_write_tokens", "prompt_audio_tokens",
            "completion_audio_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens",
            "upper_prompt_tokens", "upper_completion_tokens", "price",
        },
    },
    "chatapp.User": {
        "account.json": {
            "username", "first_name", "last_name", "email", "date_joined", "last_login",
            "seen_at", "is_staff", "is_superuser", "reviews",
        },
        "": {"id", "password", "is_active"},  # a secret, and who asks is active
    },
    "chatapp.Device": {
        "account.json": {"agent", "address", "began_at", "seen_at"},
        "": {"id", "user", "session_key", "is_signed_in"},  # a secret, and those here are
    },
    "chatapp.Project": {
        "projects.json": {"name", "instructions", "model", "created_at"},
        "": {"id", "user", "upstream"},
    },
    "chatapp.User_groups": {"account.json": {"group"}, "": {"id", "user"}},
    "socialaccount.SocialAccount": {
        "account.json": {"extra_data"},
        "": {"id", "user", "provider", "uid", "last_login", "date_joined"},
    },
    "account.EmailAddress": {
        "account.json": {"email"},
        "": {"id", "user", "verified", "primary"},
    },
}  # fmt: skip
LEFT_OUT = {
    # Made of what stands in the archive.
    "chatapp.ConversationSums", "chatapp.ConversationFact", "chatapp.SearchEntry",
    "chatapp.UnjudgedMessage", "chatapp.ClaimedGroup", "chatapp.Allowance", "chatapp.Hold",
    # Secrets and rights.
    "mfa.Authenticator", "chatapp.User_user_permissions",
    # What others decide; who looked and why is in opened.json.
    "chatapp.Limit", "chatapp.LegalHold", "chatapp.Review", "chatapp.ReviewNote",
    "chatapp.RuleFinding", "chatapp.SampleMember",
    # What whoever administers or reviews does for the installation.
    "chatapp.ReviewPolicy", "chatapp.Opening", "chatapp.ReviewView", "chatapp.ReviewSample",
    "chatapp.ReviewSearch", "chatapp.Invitation", "admin.LogEntry",
}  # fmt: skip
OWNERS = (User, Conversation, Message)


def owned() -> dict[str, type[models.Model]]:
    return {
        model._meta.label: model
        for model in apps.get_models(include_auto_created=True)
        if model in OWNERS
        or any(field.related_model in OWNERS for field in model._meta.local_concrete_fields)
    }


def test_each_table_of_a_persons_is_in_it_or_left_out_for_a_reason() -> None:
    assert set(owned()) == set(SAID) | LEFT_OUT


@pytest.mark.parametrize("label", SAID)
def test_each_field_is_in_it_or_left_out_for_a_reason(label: str) -> None:
    fields = [field.name for field in apps.get_model(label)._meta.concrete_fields]
    told = [name for names in SAID[label].values() for name in names]
    assert sorted(fields) == sorted(told)


def write(person: User, upstream: Upstream) -> None:
    """One chat kept, and one each that is archived, in the trash, or temporary."""
    now = timezone.now()
    kept = person.conversations.create(title="kept", is_pinned=True)
    gone, _ = answered(kept, upstream, "deleted words")
    Message.objects.filter(pk=gone.pk).update(deleted_at=now)
    _, reply = kept.ask(uuid4(), "What time?", None, upstream, "m", uuid4())
    Feedback.objects.create(message=reply, rating="down", note="too late", given_at=now)
    run = {"id": "c1", "name": "clock", "arguments": '{"zone": "UTC"}', "state": "done"}
    end(reply, reply_of("Noon", "It asks"))
    round = {"reasoning": "First", "content": "Let me see", "refusal": ""}
    runs = [{**run, "result": "12:00"}]
    Message.objects.filter(pk=reply.pk).update(
        earlier_rounds=[{**round, "tool_runs": runs, "usage": None}],
        extras_record={"citations": ["https://x.test/"]},
        moderation={"is_flagged": False},
        finish_reason="stop",
        choice=1,
        time_to_first_token=0.5,
        reasoning_duration=0.25,
        duration=2.0,
    )
    for title, marked in (
        ("archived", {"archived_at": now}),
        ("trash", {"trashed_at": now}),
        ("temporary", {"is_temporary": True}),
    ):
        person.conversations.create(title=title, **marked)


async def test_what_is_kept_of_a_chat_is_in_it_and_marked(
    alices: Client, alice: User, connected: Upstream, connections_close: None
) -> None:
    await sync_to_async(write)(alice, connected)
    files = await unpacked(alices)
    lines: list[dict[str, Any]] = [
        json.loads(one) for one in files["conversations.jsonl"].splitlines()
    ]
    chats = {one["title"]: one for one in lines}
    assert chats["archived"]["archived_at"]
    assert chats["trash"]["trashed_at"]
    assert chats["temporary"]["is_temporary"]
    kept = chats["kept"]
    assert SAID["chatapp.Conversation"]["conversations.jsonl"] <= set(kept)
    assert (kept["is_pinned"], kept["is_temporary"], kept["trashed_at"]) == (True, False, None)
    said = {one["content"]: one for one in kept["messages"]}
    assert said["deleted words"]["deleted_at"]
    reply = said["Let me see\n\nNoon"]
    expected = {"name": "clock", "arguments": '{"zone": "UTC"}', "result": "12:00"}
    [called] = reply["tool_calls"]
    assert expected.items() <= called.items()
    assert reply["reasoning"] == "First\n\nIt asks"
    assert (reply["feedback"]["note"], reply["upstream"]) == ("too late", "Fake")
    assert reply["extras"] == {"citations": ["https://x.test/"]}
    for name in ("finish_reason", "moderation", "choice", "time_to_first_token", "duration"):
        assert reply[name], name


# What the archive has in words of the page's, and what is left out.
TOLD = {
    "roles": "account with its roles", "groups": "groups", "devices": "devices",
    "organisation": "sign-in said of you", "reasoning": "reasoning",
    "tool_calls": "calls of tools", "result": "what these answered",
    "feedback": "what you said of replies", "trashed_at": "the trash",
    "deleted_at": "what you deleted and is kept still", "projects.json": "projects",
    "usage.csv": "usage", "opened.json": "what staff opened and did",
}  # fmt: skip
NOT_TOLD = {
    "limit": "limits", "hold": "limits and holds", "notes": "what reviewers and rules noted",
    "logprobs": "how probable a reply", "events": "other events",
}  # fmt: skip


async def test_the_page_says_what_is_in_it_and_what_is_not(
    alices: Client, alice: User, connected: Upstream, connections_close: None
) -> None:
    await sync_to_async(write)(alice, connected)
    files = await unpacked(alices)
    keys = {*files, *re.findall('"([a-z_]+)": ', "".join(files.values()))}
    page = parse((await sync_to_async(alices.get)("/privacy/")).text)
    section = page.find("section", **{"aria-labelledby": "take-along"})
    has, _, lacks = " ".join(section.find_all("p")[0].text.split()).partition("Not in it are")
    assert [key for key, words in TOLD.items() if words not in has or words in lacks] == []
    assert [words for words in NOT_TOLD.values() if words not in lacks] == []
    assert set(TOLD) <= keys
    assert keys.isdisjoint(NOT_TOLD)


async def test_what_deleted_chats_cost_is_in_it_in_plain_dollars(
    alices: Client, alice: User, connections_close: None
) -> None:
    fields = {"provenance": "reported", "booked_at": timezone.now(), "cost": 1_500_000_000}
    await Usage.objects.acreate(message_id=uuid4(), user=alice, **fields)
    head, line = (await unpacked(alices))["usage.csv"].splitlines()
    assert head.endswith(",cost_usd")
    assert line.endswith(",1.500000000")
