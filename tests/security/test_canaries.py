"""Each text of Alice's is a word of its own, and no answer to anybody else has one of them, unless
they may read it and the audit log says that they did.

A model with texts that this does not know fails it, and so does an address that `test_access` does
not; what a socket answers is in `test_socket_access`.
"""

import re
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.apps import apps
from django.db import models
from django.test import AsyncClient

from chatapp.models import (
    Conversation,
    Feedback,
    Message,
    Opening,
    Project,
    Usage,
    User,
    reindex,
)
from tests.security.test_access import (
    CAST,
    FORMER,
    READERS,
    TABLE,
    House,
    house,  # noqa: F401 - a fixture
    is_recorded,
    recorded,
    said,
)

pytestmark = pytest.mark.django_db(transaction=True)

OF_PEOPLE: dict[type[models.Model], str] = {
    Conversation: "user",
    Feedback: "message__conversation__user",
    Message: "conversation__user",
    Project: "user",
    Usage: "user",
    User: "pk",
}
"""What people write, are answered and are called, and by what each is Alice's."""
OTHERS = {
    "AccessRule": "the administrators'",
    "AuditDetail": "for administrators alone; tests/audit has what it says of whom",
    "AuditEvent": "ids",
    "AuditHead": "hashes",
    "CacheEntry": "counts of attempts",
    "ContentType": "Django's",
    "ConversationFact": "models' and tools' names, by which reviewers find",
    "DailyUsage": "the words of `Usage`, by which its rows are counted",
    "Device": "what a session was opened with, of which its owner and administrators are told",
    "EmailAddress": "allauth's, of which none is made",
    "EmailConfirmation": "likewise",
    "Group": "the administrators'",
    "Installation": "likewise",
    "Invitation": "of who has no account yet, for administrators",
    "LegalHold": "why something must be kept, in words of administrators, for them alone",
    "Limit": "the administrators'",
    "Logo": "for everybody",
    "LogEntry": "Django's history of what staff have changed",
    "MonthlyUsage": "likewise",
    "Permission": "Django's",
    "Price": "of models",
    "Process": "of servers",
    "ReplyImage": "bytes, which are looked for in test_access",
    "Session": "of its owner's browser alone",
    "Opening": "why a reviewer opened a conversation, for whose it is and for reviewers",
    "ReviewLabel": "the administrators'",
    "ReviewRule": "the administrators', for them and reviewers",
    "ReviewSample": "of reviewers, for all of them",
    "ReviewView": "likewise, or for one of them alone",
    "ReviewSearch": "of one reviewer and for them alone",
    "ReviewNote": "of reviewers and for them alone; tests/review has who reads them",
    "SocialAccount": "who somebody is at the organisation's sign-in, read by nobody",
    "SocialApp": "allauth's, of which none is made",
    "SocialToken": "likewise",
    "Suggestion": "the administrators'",
    "ToolServer": "likewise; its secrets are looked for in test_access",
    "Upstream": "likewise",
}
NO_TEXT = {"password": "its hash signs her in"}
STAFF = {"rita", "olive", "adam"}
"""Who may see what people are called, without an event of it."""
ADMINISTRATORS = {"olive", "adam"}
"""Who may see which models they use, too: in `/usage/`."""
RULE = {"name": "All", "applies_to": "both", "kind": "pattern", "pattern": "qzk"}
WORD = re.compile(r"qzk\d{4}")


def texts_of(model: type[models.Model]) -> list[str]:
    """The names of its fields for texts that are free."""
    return [
        field.name
        for field in model._meta.concrete_fields
        if isinstance(field, models.CharField | models.TextField)
        and not isinstance(field, models.JSONField)
        and not field.choices
        and field.name not in NO_TEXT
    ]


def fill(alice: int) -> dict[str, type[models.Model]]:
    """Puts a word of its own into each text of hers; returns the words."""
    numbers = count(1)
    words: dict[str, type[models.Model]] = {}
    for model, owner in OF_PEOPLE.items():
        for row in model._default_manager.filter(**{owner: alice}):
            texts = {name: f"qzk{next(numbers):04}" for name in texts_of(model)}
            model._default_manager.filter(pk=row.pk).update(**texts)
            words |= dict.fromkeys(texts.values(), model)
    for _ in reindex():
        pass
    return words


def test_every_model_with_texts_is_known() -> None:
    with_texts = {model for model in apps.get_models() if texts_of(model)}
    assert {model.__name__ for model in with_texts - set(OF_PEOPLE)} == set(OTHERS)


def asked_besides(home: House) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """What a plain look at each address leaves out: searches, and what is sent."""
    ids = [str(home.conversation.pk)]
    yield "get", "/search/", {"q": "qzk"}
    yield "get", "/conversations/", {"q": "qzk"}
    yield "get", "/review/", {"tool": "qzk"}
    yield "get", "/admin/chatapp/user/", {"q": "qzk"}
    yield "get", "/audit/", {"about": str(home.conversation.pk)}
    yield "post", "/conversations/export/", {"ids": ids}
    yield "post", "/conversations/change/", {"ids": ids, "action": "no such action"}
    yield "post", "/review/search/", {"words": "qzk", "reason": "A complaint"}
    yield "post", "/review/rules/add/", RULE


async def told(client: AsyncClient, method: str, path: str, fields: dict[str, Any]) -> str:
    """What is answered, and what that leads to."""
    follow = {"follow": True} if method == "post" else {}
    return await said(await getattr(client, method)(path, fields, **follow))


def looks(home: House) -> Iterator[tuple[str, str, dict[str, Any]]]:
    yield from (("get", home.path(route), {}) for route in TABLE if route != "accounts/logout/")
    yield from asked_besides(home)


@pytest.mark.parametrize("name", [*CAST, *FORMER])
async def test_nobody_reads_a_word_of_hers_unless_they_may_and_it_is_recorded(
    house: House,  # noqa: F811 - the fixture
    name: str,
) -> None:
    words = await sync_to_async(fill)(house.conversation.user_id)
    assert set(words.values()) == set(OF_PEOPLE)
    client = house.clients[name]
    seen: set[str] = set()
    for method, path, fields in looks(house):
        since = await recorded()
        found = set(WORD.findall(await told(client, method, path, fields)))
        seen |= found
        if name == "alice" or not found:
            continue
        open_to_them = (User, Usage) if name in ADMINISTRATORS else (User,)
        names = {word for word in found if words[word] in open_to_them}
        assert not names or name in STAFF, path
        if found - names:
            assert name in READERS, path
            assert await is_recorded(name, house, path, since), path
    written = {word for word in seen if words[word] is Message}
    assert bool(written) == (name in READERS), "it looks nowhere where words are"


def facts_of(alice: int) -> set[str]:
    """What a list tells of a reply and nobody has said in it: which model, and how it ended."""
    replies = Message.objects.filter(conversation__user=alice)
    return {word for row in replies.values_list("model", "ending") for word in row}


@pytest.mark.parametrize("name", ["rita", "olive"])
async def test_a_reviewer_reads_not_a_word_of_hers_where_no_opening_lasts(
    house: House,  # noqa: F811 - the fixture
    name: str,
) -> None:
    words = await sync_to_async(fill)(house.conversation.user_id)
    facts = await sync_to_async(facts_of)(house.conversation.user_id)
    await Opening.objects.all().adelete()
    client = house.clients[name]
    for method, path, fields in looks(house):
        found = set(WORD.findall(await told(client, method, path, fields)))
        assert {words[word] for word in found - facts} <= {User, Usage}, path
