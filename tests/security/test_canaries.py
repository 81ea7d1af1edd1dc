"""Each text of the database is a word of its own, and no answer has one of them for anybody who may
not read it; what is somebody else's is read only if the audit log says so.

A field that `canaries` does not know fails it, and so does an address that `test_access` does not;
sockets are in `test_canaries_of_sockets`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from django.http import HttpResponseBase

from chatapp.models import Message, Opening
from tests.security import canaries, furnished
from tests.security.canaries import FILLED, NOBODY, UNFILLED, WORD, Text, fields_of, texts
from tests.security.house import CAST, FORMER, House
from tests.security.test_access import HERS, OWN, TABLE, is_recorded, recorded

pytestmark = pytest.mark.django_db

PLAUSIBLE = {"post": "yes", "title": "New", "name": "New", "rating": "up", "reason": "A matter"}
"""So that what is posted fails by whose it is, and not only by what is in it."""
RULE = {"name": "All", "applies_to": "both", "kind": "pattern", "pattern": "qzk"}
DELETING = ("admin/chatapp/user/<path:object_id>/delete/", "people/<int:pk>/delete/")
"""After which nothing of Alice's is left to be told."""
FACTS = {"Message model", "Usage model", "Usage upstream_name"}
"""What a list tells of a reply, and nobody has said in it."""
Look = tuple[str, str, dict[str, Any]]


@dataclass
class Canaries:
    house: House
    words: dict[str, Text]

    async def told(self, name: str, look: Look) -> str:
        """What this one of the cast is answered, and what that leads to."""
        method, path, fields = look
        client = self.house.clients[name]
        if method == "get":
            return await readable(await client.get(path, fields))
        page = await readable(await client.post(path, fields, follow=True))
        part = await readable(await client.post(path, fields, headers={"HX-Request": "true"}))
        return page + part

    async def leaks(self, name: str, looks: Iterator[Look], seen: set[str]) -> list[str]:
        """What this one of the cast reads and may not, or unrecorded; all they read is `seen`."""
        leaks = []
        for look in looks:
            since = await recorded()
            for word in sorted(set(WORD.findall(await self.told(name, look)))):
                seen.add(word)
                text = self.words[word]
                if name in text.audience.freely:
                    continue
                may = name in text.audience.if_recorded
                if not may or not await is_recorded(name, self.house, look[1], since):
                    leaks.append(f"{name}: {text.field} in {look[0]} {look[1]}")
        return leaks


@pytest.fixture
def filled(house: House) -> Canaries:
    furnished.furnish(house)
    return Canaries(house, canaries.fill(house.conversation.user_id))


def test_every_text_is_known() -> None:
    known = [*fields_of(FILLED), *fields_of(UNFILLED)]
    assert sorted(f"{model.__name__} {name}" for model, name in texts()) == sorted(known)


async def test_every_export_is_looked_through(filled: Canaries) -> None:
    for look in exports(filled.house):
        told = [await filled.told(name, look) for name in ("alice", "olive")]
        assert any("attachment; filename=" in one for one in told), look


def exports(home: House) -> Iterator[Look]:
    """All that is downloaded."""
    yield "post", "/conversations/export/", {"ids": [str(home.conversation.pk)]}
    yield "post", "/privacy/archive/", {}
    yield "post", "/audit/export/", {}
    for kind in ("csv", "jsonl"):
        yield "get", "/review/export/", {"format": kind}
        yield "get", "/review/export/", {"format": kind, "pseudonyms": "on"}
    for by in ("day", "model", "upstream", "group", "person"):
        for days in ("30", "365"):
            yield "get", "/usage/", {"csv": "", "by": by, "days": days}
            yield "get", "/usage/me/", {"csv": "", "by": by, "days": days}


def asked_besides(home: House) -> Iterator[Look]:
    """What a plain look at each address leaves out: searches, and what is sent."""
    ids = [str(home.conversation.pk)]
    yield "get", "/search/", {"q": "qzk"}
    yield "get", "/conversations/", {"q": "qzk"}
    yield "get", "/review/", {"tool": "qzk"}
    yield "get", "/review/", {"search": home.objects["search"]}
    yield "get", "/admin/chatapp/user/", {"q": "qzk"}
    yield "get", "/audit/", {"about": str(home.conversation.pk)}
    yield "post", "/conversations/change/", {"ids": ids, "action": "no such action"}
    yield "post", "/review/search/", {"words": "qzk", "reason": "A complaint"}
    yield "post", "/review/rules/add/", RULE
    for by in ("model", "upstream", "group", "person"):
        yield "get", "/usage/", {"by": by}


def looks(home: House) -> Iterator[Look]:
    yield from (("get", home.path(route), {}) for route in TABLE if route != "accounts/logout/")
    yield from asked_besides(home)
    yield from exports(home)


async def readable(answer: HttpResponseBase) -> str:
    """All of it, its headers too, and what is packed into it."""
    if answer.streaming:
        body = b"".join([part async for part in answer.streaming_content])  # type: ignore[attr-defined]
    else:
        body = answer.content  # type: ignore[attr-defined]
    if answer.headers.get("content-type") == "application/zip":
        packed = ZipFile(BytesIO(body))
        body = b"".join(name.encode() + packed.read(name) for name in packed.namelist())
    return f"{answer.headers}{body.decode(errors='replace')}"


@pytest.mark.thorough
async def test_nobody_reads_a_word_but_who_may_and_what_is_others_where_it_is_recorded(
    filled: Canaries,
) -> None:
    seen: set[str] = set()
    leaks = [
        leak
        for name in (*CAST, *FORMER)
        for leak in await filled.leaks(name, looks(filled.house), seen)
    ]
    assert leaks == []
    unseen = set(fields_of(FILLED)) - {filled.words[word].field for word in seen}
    assert unseen == {name for name, of in fields_of(FILLED).items() if of is NOBODY}, (
        "nobody looks"
    )


@pytest.mark.parametrize("name", ["rita", "olive"])
async def test_a_reviewer_reads_not_a_word_of_hers_where_no_opening_lasts(
    filled: Canaries, name: str
) -> None:
    await Opening.objects.all().adelete()
    seen: set[str] = set()
    for look in looks(filled.house):
        seen |= set(WORD.findall(await filled.told(name, look)))
    read = {filled.words[word] for word in seen}
    assert {text.field for text in read if name not in text.audience.freely} <= FACTS


@pytest.mark.thorough
@pytest.mark.parametrize("names", [(*CAST[:-2], *FORMER), ("olive",), ("adam",)])
async def test_nobody_is_told_a_word_where_they_post(
    filled: Canaries, names: tuple[str, ...]
) -> None:
    """Also what changes the house, as an administrator may: so each of them has a house alone."""
    leaks = [
        leak
        for name in names
        for leak in await filled.leaks(name, posts(filled.house, name), set())
    ]
    assert leaks == []
    assert await Message.objects.filter(conversation=filled.house.conversation).aexists()


def posts(home: House, name: str) -> Iterator[Look]:
    mine = HERS if name == "alice" else ()
    for route in TABLE:
        if route not in (*OWN, *mine, *DELETING):
            yield "post", home.path(route), PLAUSIBLE
