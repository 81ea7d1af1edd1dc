"""A distinct word in each text of the database, and who may read it.

Each field that may hold text is in `FILLED`, with who may read it, or in `UNFILLED`, with why it
needs no word.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from django.apps import apps
from django.db import models, transaction

from chatapp.models import AuditDetail, Conversation, User, audit, reindex
from tests.security.house import CAST, FORMER

WORD = re.compile(r"qzk\d{4}")
TEXTS = (models.CharField, models.TextField, models.JSONField, models.BinaryField)


@dataclass(frozen=True)
class Audience:
    """The people of the cast who may read a text: freely, or only if the audit log records it."""

    freely: frozenset[str]
    if_recorded: frozenset[str] = frozenset()


def only(*names: str) -> Audience:
    return Audience(frozenset(names))


HERS = Audience(frozenset({"alice"}), frozenset({"rita", "olive"}))
NOBODY, ALICE, RITA, REVIEWERS = only(), only("alice"), only("rita"), only("rita", "olive")
ADMINISTRATORS, STAFF = only("olive", "adam"), only("olive", "adam", "rita")
HER_ACCOUNT = only("alice", "olive", "adam")
HER_BOOKS = Audience(HER_ACCOUNT.freely, frozenset({"rita"}))
HER_NAME = only("alice", "olive", "adam", "rita")
MEMBERS, EVERYBODY = only(*CAST[1:]), only(*CAST, *FORMER)

FILLED = {
    "Conversation title": HERS,
    "ContextCut summary": HERS,
    "Feedback note": HERS,
    "Message content reasoning refusal model": HERS,
    "Message failed_models_record": HERS,
    "Message error earlier_rounds tool_runs extras_record logprobs moderation": HERS,
    "Message finish_reason response_id service_tier system_fingerprint": HERS,
    "ReplyImage data": HERS,
    "Attachment name alt": HERS,
    "Attachment problem": ALICE,
    "FileContent text": HERS,
    "Project name instructions model": ALICE,
    "ChatSettings system_prompt parameters by_model allowed_tools": ALICE,
    "RequestSettings instructions parameters": HERS,
    "Memory about answers": ALICE,
    "SavedPrompt title command text": ALICE,
    "PromptVersion title command text": ALICE,
    "Preset name description system_prompt model parameters suggestions": ALICE,
    "PresetVersion description system_prompt model parameters suggestions": ALICE,
    "PresetVersion name": HERS,
    "PresetFile name": HERS,
    "RememberedValues values": ALICE,
    "User username first_name last_name email": HER_NAME,
    "Device agent": HER_ACCOUNT,
    "AccessToken name": HER_ACCOUNT,
    "Import name problem preview result": ALICE,
    "EmailAddress email": NOBODY,
    "SocialAccount uid": NOBODY,
    "SocialAccount extra_data": ALICE,
    "Authenticator data": NOBODY,
    "Usage upstream_name model": HER_BOOKS,
    "Opening reason": REVIEWERS,
    "AuditDetail content": HER_NAME,
    "LegalHold reason": ADMINISTRATORS,
    "ReviewLabel name": STAFF,
    "ReviewNote text": REVIEWERS,
    "ReviewView name filters": RITA,
    "ReviewSample name": REVIEWERS,
    "ReviewSample filters": NOBODY,
    "ReviewSearch words": RITA,
    "ReviewSearch reason": NOBODY,
    "ReviewRule name text": STAFF,
    "Invitation address": ADMINISTRATORS,
    "AccessRule model": ADMINISTRATORS,
    "Fallback model to_model": ADMINISTRATORS,
    "Price model": ADMINISTRATORS,
    "Limit model whom_to_ask": MEMBERS,
    "Group name": HER_NAME,
    "Upstream name offered_models model_names model_descriptions": MEMBERS,
    "Upstream image_refusals model_parameters parameter_refusals context_refusals": ADMINISTRATORS,
    "Upstream model_concessions": ADMINISTRATORS,
    "Upstream base_url": STAFF,
    "Upstream parameters": MEMBERS,
    "Upstream api_key": NOBODY,
    "ToolServer name url command unasked_tools": STAFF,
    "ToolServer secrets": NOBODY,
    "Suggestion text": MEMBERS,
    "Installation signup_domains title_model": ADMINISTRATORS,
    "Installation notice": MEMBERS,
    "Installation name": EVERYBODY,
    "Logo data": EVERYBODY,
}
"""By model and fields: who may read their text, if it is Alice's or the installation's."""

UNFILLED = {
    "AuditDetail salt": "a random value",
    "AuditEvent action target_type target detail_hash key previous mac": "ids and hashes",
    "AuditHead link key mac": "hashes",
    "CacheEntry cache_key value": "counts of attempts, keyed by hashes",
    "ChatExport problem chats suffix": "words of ours, and ids",
    "ContentType app_label model": "names of models",
    "Avatar version media_type data": "a hash, a picture and one of a few",
    "FileContent label media_type unit": "one of a few",
    "FileContent page_ends": "numbers",
    "FileContent left_out": "counts of what is one of a few",
    "Conversation indexed_title": "the title as indexed",
    "ChatSettings off_servers": "primary keys",
    "ContextCut model": "an id, as in `Upstream offered_models`",
    "ConversationFacet fact": "derived from messages by triggers",
    "DailyUsage upstream_name model": "summed up from `Usage` by triggers",
    "AccessToken digest last_characters scopes": "a hash, its token's end, and a few names",
    "Device session_key": "a session key; it is never shown",
    "EmailConfirmation key": "allauth's, which the app never creates",
    "Conversation imported_from": "one of a few",
    "Import source": "one of a few",
    "Import source_person": "an id in another app; it is never shown",
    "ImportFile name": "shown only as the import's",
    "Installation accent accent_dark logo_version": "colours, and a hash",
    "Installation default_model": "an id, as in `Upstream offered_models`",
    "Invitation token_hash": "a hash",
    "Logo media_type": "one of a few",
    "Message usage_so_far": "numbers",
    "MonthlyUsage upstream_name model": "as `DailyUsage`",
    "PageImage media_type": "one of a few",
    "Permission name codename": "Django's",
    "Preset tools": "primary keys",
    "PresetVersion tools": "primary keys",
    "Process place": "the name of a host, which is never shown",
    "ReplyImage media_type": "one of a few",
    "RequestSettings digest": "a hash",
    "Session session_key session_data": "a session key; it is never shown",
    "SharedChat digest last_characters": "a hash, and the end of a token",
    "SocialAccount provider": "the only provider",
    "SocialApp provider provider_id name client_id secret key settings": "the app creates none",
    "SocialToken token token_secret": "the app creates none",
    "StoredFile name sha256": "hashes",
    "Upstream model_images model_contexts": "looked up by ids of models, and never shown",
    "UpstreamFailure kind": "one of a few words",
    "Usage price": "numbers",
    "User password": "a hash, which is never shown",
    "User avatar_version": "a hash",
}

COST = {"provenance": "unknown"}
RUN = {"id": "{}", "name": "{}", "arguments": '{"a": "{}"}', "state": "done", "result": "{}"}
SHAPES: dict[str, Any] = {
    "Authenticator data": {"secret": "{}"},
    "ChatSettings parameters": {"stop": ["{}"]},
    "ChatSettings by_model": {"1/{}": {"system_prompt": "{}", "parameters": {"stop": ["{}"]}}},
    "ChatSettings allowed_tools": {"{}": "0"},
    "RequestSettings parameters": {"stop": ["{}"]},
    **{
        f"{model} {name}": shape
        for model in ("Preset", "PresetVersion")
        for name, shape in (("parameters", {"stop": ["{}"]}), ("suggestions", ["{}"]))
    },
    "EmailAddress email": "{}@example.org",
    "Import preview": {"reasons": {"{}": [1, ["{}"]]}, "left_out": {"{}": 1}},
    "Import result": {"reasons": {"{}": [1, ["{}"]]}, "left_out": {"{}": 1}},
    "Invitation address": "{}@example.org",
    "Logo data": b"RIFF{}",
    "Message earlier_rounds": [
        {"content": "{}", "reasoning": "{}", "refusal": "{}", "tool_runs": [RUN], "usage": COST}
    ],
    "Message error": {"kind": "stream_error", "message": "{}", "type": "{}", "code": "{}"},
    "Message extras_record": {
        "sources": [["https://example.org/{}", "{}"]],
        "left_out": {"{}": 1},
        "image_count": 1,
    },
    "Message failed_models_record": [
        {"upstream": 1, "model": "{}", "name": "{}", "kind": "server_error"}
    ],
    "Message logprobs": [["{}", 0.5, [["{}", 0.5]]]],
    "Message moderation": {
        "input": {"model": "{}", "results": [{"categories": ["{}"], "scores": {"{}": 0.5}}]},
        "output": {"code": "{}", "message": "{}"},
    },
    "Message tool_runs": [RUN],
    "RememberedValues values": {"topic": "{}"},
    "ReplyImage data": b"GIF89a{}",
    "SavedPrompt text": "{} {{topic}}",
    "ReviewSample filters": {"tool": "{}"},
    "ReviewView filters": {"tool": "{}"},
    "SocialAccount extra_data": {"name": "{}"},
    "ToolServer secrets": "X-Key: {}",
    "ToolServer url": "http://127.0.0.1:9/{}",
    "Upstream base_url": "http://127.0.0.1:9/{}",
    "Upstream image_refusals": {"{}": "2026-01-01T00:00:00+00:00"},
    "Upstream context_refusals": {"{}": {"at": "2026-01-01T00:00:00+00:00", "tokens": 8192}},
    "Upstream model_concessions": {"{}": {"tools": "2026-01-01T00:00:00+00:00"}},
    "Upstream model_descriptions": {"one": "{}"},
    "Upstream model_names": {"one": "{}"},
    "Upstream model_parameters": {"{}": {"temperature": {"max": 1}}},
    "Upstream offered_models": "one = {}\n{} = {}",
    "Upstream parameter_refusals": {"{}": {"{}": "2026-01-01T00:00:00+00:00"}},
    "Upstream parameters": {"user": "{}"},
    "User email": "{}@example.org",
}
"""The text of a field around its words; other fields hold just the word."""


@dataclass(frozen=True)
class Text:
    field: str
    audience: Audience


def expand_fields(table: dict[str, Any]) -> dict[str, Any]:
    """Expand a table to one entry for each field, keyed like `Message content`."""
    return {
        f"{model} {name}": value
        for names, value in table.items()
        for model, *fields in [names.split()]
        for name in fields
    }


def texts() -> Iterator[tuple[type[models.Model], str]]:
    """Iterate over each field that may hold text, except those with choices."""
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, TEXTS) and not field.choices:
                yield model, field.name


def fill(alice: int) -> dict[str, Text]:
    """Put words into each text that is Alice's or the installation's; return them."""
    audiences, numbers = expand_fields(FILLED), count(1)
    words: dict[str, Text] = {}

    def word(field: str) -> str:
        made = f"qzk{next(numbers):04}"
        words[made] = Text(field, audiences[field])
        return made

    def fill_shape(shape: Any, field: str) -> Any:
        match shape:
            case str():
                return re.sub(r"\{\}", lambda _: word(field), shape)
            case bytes():
                return fill_shape(shape.decode(), field).encode()
            case list():
                return [fill_shape(part, field) for part in shape]
            case dict():
                return {
                    fill_shape(key, field): fill_shape(part, field) for key, part in shape.items()
                }
        return shape

    for model, name in texts():
        field = f"{model.__name__} {name}"
        if field not in audiences or model is AuditDetail:
            continue
        rows = model._default_manager.all()
        if model.__name__ in OF_ALICE:
            rows = rows.filter(**{OF_ALICE[model.__name__]: alice})
        for pk in rows.values_list("pk", flat=True):
            value = {name: fill_shape(SHAPES.get(field, "{}"), field)}
            model._default_manager.filter(pk=pk).update(**value)
    with transaction.atomic():
        audit.record(
            "conversation.opened",
            actor=User.objects.get(username="rita"),
            about=Conversation.objects.get(user=alice),
            detail={"reason": word("AuditDetail content")},
        )
    for _ in reindex():
        pass
    return words


OF_ALICE = {
    "AccessToken": "user",
    "Attachment": "user",
    "ContextCut": "conversation__user",
    "Conversation": "user",
    "Device": "user",
    "Feedback": "message__conversation__user",
    "Import": "user",
    "Message": "conversation__user",
    "Project": "user",
    "PromptVersion": "target__owner",
    "RememberedValues": "user",
    "SavedPrompt": "owner",
    "Usage": "user",
    "User": "pk",
}
"""How to find Alice's rows; models not named here belong to everybody."""
