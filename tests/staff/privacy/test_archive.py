"""The fields of each table with personal data that the archive contains.

A new field or table fails these tests until it is in one of the lists.
"""

import json
import re
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.apps import apps
from django.core.files.storage import Storage
from django.db import models
from django.test import Client
from django.utils import timezone

from chatapp.library.prompts.formats import prompts_in
from chatapp.models import (
    Attachment,
    ChatSettings,
    Conversation,
    Feedback,
    FileSet,
    Memory,
    Message,
    Preset,
    PresetFile,
    RememberedValues,
    SavedPrompt,
    Upstream,
    Usage,
    User,
)
from chatapp.models.library.sharing import Level
from chatapp.staff.privacy.archived_account import archived_account
from tests.staff.privacy.test_privacy import download_archive
from tests.support.attaching import attach_file
from tests.support.page import parse
from tests.support.stored import build_reply, end, fork_conversation, new_conversation, store_turn

pytestmark = pytest.mark.django_db

# Each table's fields by the archive's file that contains them; under "" those left out.
INCLUDED: dict[str, dict[str, set[str]]] = {
    "chatapp.Conversation": {
        "conversations.jsonl": {
            "id", "title", "created_at", "updated_at", "project", "archived_at", "trashed_at",
            "is_pinned", "is_temporary", "active_leaf", "imported_from",
        },
        "": {  # the owner, the state of the page, the origin of the title, the copies
            "user", "indexed_title", "titled_by", "is_unread", "stored_bytes",
            "cut_changes",
        },
    },
    "chatapp.ChatSettings": {
        "conversations.jsonl": {
            "conversation", "preset_version", "system_prompt", "parameters", "by_model",
        },
        "": {"allowed_tools", "off_servers"},  # the house's tools
    },
    "chatapp.RequestSettings": {
        "conversations.jsonl": {
            "id", "conversation", "preset_version", "instructions", "parameters",
        },
        "": {"digest", "has_preset"},
    },
    "chatapp.SharedChat": {
        "shared_links.json": {
            "id", "conversation", "message", "is_public", "shows_reasoning", "shows_tools",
            "shows_files", "shows_author", "last_characters", "created_at", "expires_at",
            "last_used_at",
        },
        "": {"digest"},
    },
    "chatapp.SharedChatAudience": {
        "shared_links.json": {"target", "person", "group"}, "": {"id"},
    },
    "chatapp.Memory": {"account.json": {"about", "answers", "is_on"}, "": {"user"}},
    "chatapp.ContextCut": {
        "conversations.jsonl": {
            "conversation", "message", "summary", "upstream", "model", "is_edited", "is_lifted",
            "created_at",
        },
        "": {"id"},
    },
    "chatapp.Message": {
        "conversations.jsonl": {
            "id", "parent", "role", "created_at", "deleted_at", "is_continuation", "content",
            "reasoning", "refusal", "tool_runs", "earlier_rounds", "extras_record", "upstream",
            "model", "failed_models_record", "request_settings", "choice", "ending",
            "finish_reason", "moderation", "time_to_first_token", "reasoning_duration", "duration",
            "file_count",
        },
        "": {  # its place, how it is written, and details of its upstream
            "conversation", "sequence", "slot", "indexed_at", "streamed_by", "usage_so_far",
            "response_id", "error", "service_tier", "system_fingerprint", "is_flagged",
            "logprobs",  # many times as large as the text
        },
    },
    "chatapp.Feedback": {
        "conversations.jsonl": {"message", "rating", "note", "given_at"},
    },
    "chatapp.ReplyImage": {
        "images/": {"message", "position", "media_type", "data", "file"},
        "": {"id", "imported_by"},
    },
    "chatapp.Attachment": {
        "files.json": {
            "id", "conversation", "message", "name", "size", "state", "problem", "file",
            "first_page", "last_page", "alt", "created_at",
        },
        "": {  # the owner, the order, the progress of an upload, and an estimate
            "user", "position", "received", "read_by", "tokens", "changed_at", "form",
        },
    },
    "chatapp.Usage": {
        "usage.csv": {
            "upstream_name", "model", "kind", "booked_at", "ending", "first_token_ms",
            "duration_ms", "provenance", "prompt_tokens", "completion_tokens", "total_tokens",
            "cached_tokens", "reasoning_tokens", "extra_fees", "cost",
        },
        "": {  # counts of few gateways, bounds of estimates, keys, and the price
            "message", "user", "upstream", "day", "cache_write_tokens", "prompt_audio_tokens",
            "completion_audio_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens",
            "upper_prompt_tokens", "upper_completion_tokens", "price", "preset",
            "conversation",
        },
    },
    "chatapp.User": {
        "account.json": {
            "username", "first_name", "last_name", "email", "date_joined", "last_login",
            "seen_at", "is_staff", "is_superuser", "reviews", "finishes_replies",
            "avatar_version",
        },
        "": {"id", "password", "is_active"},  # a secret; the person is active
    },
    "chatapp.Avatar": {
        "account.json": {"media_type", "data"},
        "": {"id", "user", "version"},
    },
    "chatapp.Device": {
        "account.json": {"agent", "address", "began_at", "seen_at"},
        "": {"id", "user", "session_key", "is_signed_in"},  # a secret; all here are signed in
    },
    "chatapp.AccessToken": {
        "account.json": {
            "name", "last_characters", "scopes", "created_at", "expires_at", "last_used_at",
        },
        "": {"id", "user", "digest"},  # a secret
    },
    "chatapp.Project": {
        "projects.json": {"name", "instructions", "model", "preset", "created_at"},
        "": {"id", "user", "upstream"},
    },
    "chatapp.Import": {
        "imports.json": {
            "name", "source", "state", "phase", "problem", "created_at", "started_at", "ended_at",
            "makes_projects", "preview", "result", "is_for_team",
            "source_person",  # whether there is one
        },
        # Of the job, and which one of an administrator's
        "": {"id", "user", "is_cancelled", "takes_back", "done", "total", "run_by", "part_of"},
    },
    "chatapp.ProjectMember": {
        "projects.json": {"person", "group", "may_add"},
        "": {"id", "target"},
    },
    "chatapp.SavedPrompt": {
        "prompts.json": {
            "id", "title", "command", "text", "version", "created_at", "updated_at", "deleted_at",
        },
        "": {"owner"},
    },
    "chatapp.PromptVersion": {
        "prompt_versions.jsonl": {"target", "number", "created_at", "title", "command", "text"},
        "": {"id", "author"},
    },
    "chatapp.Preset": {
        "presets.json": {
            "id", "name", "icon", "description", "system_prompt", "upstream", "model", "parameters",
            "tools", "suggestions", "takes_memory", "file_set", "version", "created_at",
            "updated_at", "deleted_at",
        },
        "": {"owner"},
    },
    "chatapp.PresetVersion": {
        "preset_versions.jsonl": {
            "target", "number", "created_at", "name", "icon", "description", "system_prompt",
            "upstream", "model", "parameters", "tools", "suggestions", "takes_memory",
            "file_set",
        },
        "": {"id", "author"},
    },
    "chatapp.RememberedValues": {
        "remembered.json": {"prompt", "values", "used_at"},
        "": {"id", "user"},
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
    # Derived from what the archive contains.
    "chatapp.ConversationSums", "chatapp.ConversationFacet", "chatapp.SearchEntry",
    "chatapp.UnjudgedMessage", "chatapp.ClaimedGroup", "chatapp.BudgetAccount",
    "chatapp.TemporaryHold", "chatapp.ChatExport", "chatapp.StoredFile",
    # What the person has uploaded, until the import has ended.
    "chatapp.ImportFile",
    # Secrets and rights.
    "mfa.Authenticator", "chatapp.User_user_permissions",
    # What others decide; openings and reasons are in opened.json.
    "chatapp.Limit", "chatapp.LegalHold", "chatapp.Review", "chatapp.ReviewNote",
    "chatapp.RuleFinding", "chatapp.SampleMember",
    # What administrators and reviewers do for the installation.
    "chatapp.ReviewPolicy", "chatapp.Opening", "chatapp.ReviewView", "chatapp.ReviewSample",
    "chatapp.ReviewSearch", "chatapp.Invitation",
}  # fmt: skip
OWNERS = (User, Conversation, Message)


def find_owned_models() -> dict[str, type[models.Model]]:
    return {
        model._meta.label: model
        for model in apps.get_models(include_auto_created=True)
        if model in OWNERS
        or any(field.related_model in OWNERS for field in model._meta.local_concrete_fields)
    }


def test_each_table_with_personal_data_is_included_or_left_out_for_a_reason() -> None:
    assert set(find_owned_models()) == set(INCLUDED) | LEFT_OUT


@pytest.mark.parametrize("label", INCLUDED)
def test_each_field_is_included_or_left_out_for_a_reason(label: str) -> None:
    fields = [field.name for field in apps.get_model(label)._meta.concrete_fields]
    listed = [name for names in INCLUDED[label].values() for name in names]
    assert sorted(fields) == sorted(listed)


def write(person: User, upstream: Upstream) -> None:
    """Create one chat with content, and one each that is archived, in the trash, or temporary."""
    now = timezone.now()
    pinned_chat = person.conversations.create(title="kept", is_pinned=True)
    deleted_message, _ = store_turn(pinned_chat, upstream, "deleted words")
    Message.objects.filter(pk=deleted_message.pk).update(deleted_at=now)
    _, reply = pinned_chat.ask(uuid4(), "What time?", None, upstream, "m", uuid4())
    Feedback.objects.create(message=reply, rating="down", note="too late", given_at=now)
    run = {"id": "c1", "name": "clock", "arguments": '{"zone": "UTC"}', "state": "done"}
    end(reply, build_reply("Noon", "It asks"))
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


async def test_archived_trashed_and_temporary_chats_are_included_and_marked(
    alices: Client, alice: User, saved_upstream: Upstream, connections_close: None
) -> None:
    await sync_to_async(write)(alice, saved_upstream)
    files = await download_archive(alices)
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in files["conversations.jsonl"].splitlines()
    ]
    chats = {line["title"]: line for line in lines}
    assert chats["archived"]["archived_at"]
    assert chats["trash"]["trashed_at"]
    assert chats["temporary"]["is_temporary"]
    chat = chats["kept"]
    assert INCLUDED["chatapp.Conversation"]["conversations.jsonl"] <= set(chat)
    assert (chat["is_pinned"], chat["is_temporary"], chat["trashed_at"]) == (True, False, None)
    messages_by_content = {message["content"]: message for message in chat["messages"]}
    assert messages_by_content["deleted words"]["deleted_at"]
    reply = messages_by_content["Let me see\n\nNoon"]
    expected = {"name": "clock", "arguments": '{"zone": "UTC"}', "result": "12:00"}
    [called] = reply["tool_calls"]
    assert expected.items() <= called.items()
    assert reply["reasoning"] == "First\n\nIt asks"
    assert (reply["feedback"]["note"], reply["upstream"]) == ("too late", "Fake")
    assert reply["extras"] == {"citations": ["https://x.test/"]}
    for name in ("finish_reason", "moderation", "choice", "time_to_first_token", "duration"):
        assert reply[name], name


async def test_attached_files_are_included_each_content_once(
    alices: Client, alice: User, saved_upstream: Upstream, connections_close: None, disk: Storage
) -> None:
    def attach() -> str:
        prompt, reply = store_turn(new_conversation(alice), saved_upstream, "Summarise")
        report = attach_file(prompt, 'a: "report"?.txt', b"Sales fell")
        assert report.file
        attach_file(prompt, "chart.png", b"pixels")
        fork_conversation(alice, reply.pk)
        draft = attach_file(prompt, "draft.txt", b"Not yet sent")
        Attachment.objects.filter(pk=draft.pk).update(message=None, alt="What I think")
        lost = attach_file(prompt, "lost.txt", b"lost")
        assert lost.file
        disk.delete(lost.file.name)
        Attachment.objects.create(user=alice, name="stopped.txt", size=9)
        of_preset = PresetFile(name="rules.txt", size=10, tokens=3, file=report.file)
        preset = Preset.start(alice, name="Clerk", file_set=FileSet.store([of_preset]))
        preset.change(alice, 1, name="Poet")
        return str(prompt.pk)

    prompt = await sync_to_async(attach)()
    files = await download_archive(alices)
    records: list[dict[str, Any]] = json.loads(files["files.json"])
    assert len(records) == 8
    [draft] = [record for record in records if record.get("alt")]
    assert (files[draft["path"]], "message" in draft) == ("Not yet sent", False)
    report, copy = (record for record in records if "report" in record["name"])
    assert (report["message"], report["type"], report["size"]) == (prompt, "text/plain", 10)
    assert report["path"] == copy["path"] == f"files/{report['id']}-a_ _report__.txt"
    assert files[report["path"]] == "Sales fell"
    [rules] = [record for record in records if record["name"] == "rules.txt"]
    assert rules["path"] == report["path"]
    assert [record["number"] for record in rules["preset_versions"]] == [1, 2]
    assert json.loads(files["presets.json"])["presets"][0]["files"] == ["rules.txt"]
    assert sorted(len(files[name]) for name in files if name.startswith("files/")) == [6, 10, 12]
    lines = map(json.loads, files["conversations.jsonl"].splitlines())
    listed = [
        record
        for line in lines
        for message in line["messages"]
        for record in message.get("files", ())
    ]
    assert {record["name"] for record in listed} >= {'a: "report"?.txt', "chart.png"}
    assert {record["type"] for record in listed} >= {"text/plain", "image/png"}


async def test_prompts_are_included_with_what_is_remembered(
    alices: Client, alice: User, bob: User, connections_close: None
) -> None:
    def save() -> SavedPrompt:
        own = SavedPrompt.start(alice, title="Stand-up", command="standup", text="One")
        own.share(None, Level.USE, alice)
        own.change(alice, 1, text="Two")
        SavedPrompt.start(alice, title="Deleted", text="Gone").discard()
        theirs = SavedPrompt.start(bob, title="Bob's", text="Bob's words")
        theirs.share(None, Level.EDIT, bob)
        theirs.change(alice, 1, text="Alice's words")
        RememberedValues.remember(alice, theirs, {"topic": "tea"})
        return own

    own = await sync_to_async(save)()
    files = await download_archive(alices)
    prompts = {
        saved_prompt["title"]: saved_prompt
        for saved_prompt in json.loads(files["prompts.json"])["prompts"]
    }
    assert (prompts["Stand-up"]["text"], prompts["Stand-up"]["id"]) == ("Two", str(own.pk))
    assert prompts["Stand-up"]["shared_with"] == ["Everyone: Can use it"]
    assert prompts["Deleted"]["deleted_at"]
    saved = [json.loads(line)["text"] for line in files["prompt_versions.jsonl"].splitlines()]
    assert saved == ["One", "Two", "Gone", "Alice's words"]
    [remembered] = json.loads(files["remembered.json"])
    assert remembered["values"] == {"topic": "tea"}
    assert "Bob's words" not in "".join(files.values())
    assert prompts_in(files["prompts.json"].encode())[1] == []


async def test_what_the_person_set_for_chats_is_included(
    alices: Client, alice: User, connections_close: None
) -> None:
    def save() -> None:
        Memory.objects.create(user=alice, about="A nurse.", answers="Briefly.")
        conversation = alice.conversations.create(title="Texts")
        preset = Preset.start(alice, name="Translator")
        own = {"system_prompt": "Translate.", "parameters": {"seed": 3}}
        version = preset.newest
        ChatSettings.objects.create(conversation=conversation, preset_version=version, **own)
        alice.projects.create(name="Texts", preset=preset)

    await sync_to_async(save)()
    files = await download_archive(alices)
    memory = json.loads(files["account.json"])["memory"]
    assert memory == {"about": "A nurse.", "answers": "Briefly.", "is_on": True}
    chat = json.loads(files["conversations.jsonl"])
    version = {"name": "Translator", "version": 1, "system_prompt": "", "parameters": {}}
    assert chat["preset"] == version
    assert (chat["system_prompt"], chat["parameters"]) == ("Translate.", {"seed": 3})
    assert json.loads(files["projects.json"])[0]["preset"] == "Translator"


async def test_presets_are_included_with_the_versions_that_the_person_saved(
    alices: Client, alice: User, bob: User, connections_close: None
) -> None:
    def save() -> None:
        upstream = Upstream.objects.create(name="Fake", base_url="http://127.0.0.1:9/v1")
        own = Preset.start(alice, name="Translator", upstream_id=upstream.pk, model="one")
        own.change(alice, 1, system_prompt="Translate", tools=["clock", 3])
        theirs = Preset.start(bob, name="Bob's", system_prompt="Bob's words")
        theirs.share(None, Level.EDIT, bob)
        theirs.change(alice, 1, system_prompt="Alice's words")

    await sync_to_async(save)()
    files = await download_archive(alices)
    [preset] = json.loads(files["presets.json"])["presets"]
    assert (preset["upstream"], preset["tools"]) == ("Fake", ["clock", 3])
    versions = [json.loads(line) for line in files["preset_versions.jsonl"].splitlines()]
    assert [version["system_prompt"] for version in versions] == ["", "Translate", "Alice's words"]
    assert "Bob's words" not in "".join(files.values())


# How the page describes what the archive contains, and what it does not.
DESCRIBED = {
    "roles": "account with its roles", "memory": "what models know about you",
    "system_prompt": "chat settings", "groups": "groups", "devices": "devices",
    "organisation": "profile from your organisation", "reasoning": "reasoning",
    "tool_calls": "tool calls", "result": "their results",
    "feedback": "your feedback", "trashed_at": "the trash",
    "deleted_at": "deleted messages that are still kept", "projects.json": "projects",
    "prompts.json": "saved prompts", "prompt_versions.jsonl": "their versions",
    "presets.json": "presets", "preset_versions.jsonl": "their versions",
    "remembered.json": "what you filled in",
    "files.json": "the files that you attached",
    "usage.csv": "usage", "opened.json": "what staff opened and did",
}  # fmt: skip
NOT_DESCRIBED = {
    "limit": "limits", "hold": "limits and holds", "notes": "the notes of reviewers and rules",
    "logprobs": "token probabilities", "events": "other events",
}  # fmt: skip


async def test_the_page_describes_what_the_archive_contains(
    alices: Client, alice: User, saved_upstream: Upstream, connections_close: None
) -> None:
    await sync_to_async(write)(alice, saved_upstream)
    files = await download_archive(alices)
    keys = {*files, *re.findall('"([a-z_]+)": ?', "".join(files.values()))}
    page = parse((await sync_to_async(alices.get)("/privacy/")).text)
    section = page.find("section", **{"aria-labelledby": "take-along"})
    has, _, lacks = " ".join(section.find_all("p")[0].text.split()).partition("It does not include")
    assert [key for key, words in DESCRIBED.items() if words not in has or words in lacks] == []
    assert [words for words in NOT_DESCRIBED.values() if words not in lacks] == []
    assert set(DESCRIBED) <= keys
    assert keys.isdisjoint(NOT_DESCRIBED)


async def test_the_costs_of_deleted_chats_are_included_in_dollars(
    alices: Client, alice: User, connections_close: None
) -> None:
    fields = {"provenance": "reported", "booked_at": timezone.now(), "cost": 1_500_000_000}
    await Usage.objects.acreate(message_id=uuid4(), user=alice, **fields)
    head, line = (await download_archive(alices))["usage.csv"].splitlines()
    assert head.endswith(",cost_usd")
    assert line.endswith(",1.500000000")


def test_a_picture_that_was_removed_meanwhile_is_left_out(alice: User) -> None:
    alice.avatar_version = "1"
    assert archived_account(alice)["account.json"]["picture"] is None
