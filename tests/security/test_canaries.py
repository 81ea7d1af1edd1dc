"""Each text of the database is a distinct word, and no response shows a word to anybody who may not
read it; texts of other people are shown only if the audit log records it.

A field missing from `canaries` fails the tests, and so does an address missing from `test_access`;
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
from tests.security.canaries import FILLED, NOBODY, UNFILLED, WORD, Text, expand_fields, texts
from tests.security.house import CAST, FORMER, House, read_body
from tests.security.test_access import HERS, OWN, TABLE, get_last_sequence, is_recorded

pytestmark = pytest.mark.django_db

PLAUSIBLE = {"title": "New", "name": "New", "rating": "up", "reason": "A matter"}
"""Valid fields, so that a post is refused for its owner and not for its content."""
RULE = {"name": "All", "applies_to": "both", "kind": "pattern", "pattern": "qzk"}
DELETING = "people/<int:pk>/delete/"
"""The deletion, after which nothing of Alice's is left to find."""
FACTS = {"Message model", "Usage model", "Usage upstream_name"}
"""Facts about a reply that a list shows, which nobody wrote."""
Look = tuple[str, str, dict[str, Any]]


@dataclass
class Canaries:
    house: House
    words: dict[str, Text]

    def response_to(self, name: str, look: Look) -> str:
        """Return what this person gets in response, and on the page it redirects to."""
        method, path, fields = look
        client = self.house.clients[name]
        if method == "get":
            return readable(client.get(path, fields))
        page = readable(client.post(path, fields, follow=True))
        part = readable(client.post(path, fields, headers={"HX-Request": "true"}))
        return page + part

    def leaks(self, name: str, looks: Iterator[Look], seen: set[str]) -> list[str]:
        """Return what this person reads without permission or record; add all words to `seen`."""
        leaks = []
        for look in looks:
            since = get_last_sequence()
            for word in sorted(set(WORD.findall(self.response_to(name, look)))):
                seen.add(word)
                text = self.words[word]
                if name in text.audience.freely:
                    continue
                may = name in text.audience.if_recorded
                if not may or not is_recorded(name, self.house, look[1], since):
                    leaks.append(f"{name}: {text.field} in {look[0]} {look[1]}")
        return leaks


@pytest.fixture
def filled_house(house: House) -> Canaries:
    furnished.furnish(house)
    return Canaries(house, canaries.fill(house.conversation.user_id))


def test_every_text_field_is_known() -> None:
    field_names = [*expand_fields(FILLED), *expand_fields(UNFILLED)]
    assert sorted(f"{model.__name__} {name}" for model, name in texts()) == sorted(field_names)


def test_every_export_is_searched(filled_house: Canaries) -> None:
    for look in exports(filled_house.house):
        response_to = [filled_house.response_to(name, look) for name in ("alice", "olive")]
        assert any("attachment; filename=" in response for response in response_to), look


def exports(home: House) -> Iterator[Look]:
    """Iterate over all downloads."""
    yield "post", "/conversations/export/", {"ids": [str(home.conversation.pk)]}
    yield "post", "/privacy/archive/", {}
    yield "post", "/audit/export/", {}
    for kind in ("csv", "jsonl"):
        yield "get", "/review/export/", {"format": kind}
        yield "get", "/review/export/", {"format": kind, "pseudonyms": "on"}
    for by in ("day", "model", "upstream", "group", "person"):
        for period in ("30", "year"):
            yield "get", "/usage/", {"csv": "", "by": by, "period": period}
            yield "get", "/usage/me/", {"csv": "", "by": by, "period": period}


def extra_looks(home: House) -> Iterator[Look]:
    """Iterate over what a plain GET of each address leaves out: searches and posts."""
    ids = [str(home.conversation.pk)]
    yield "get", "/search/", {"q": "qzk"}
    yield "get", "/conversations/", {"q": "qzk"}
    yield "get", "/review/", {"tool": "qzk"}
    yield "get", "/review/", {"search": home.objects["search"]}
    yield "get", "/people/", {"q": "qzk"}
    yield "get", "/audit/", {"about": str(home.conversation.pk)}
    yield "post", "/conversations/change/", {"ids": ids, "action": "no such action"}
    yield "post", "/review/search/", {"words": "qzk", "reason": "A complaint"}
    yield "post", "/review/rules/add/", RULE
    for by in ("model", "upstream", "group", "person"):
        yield "get", "/usage/", {"by": by}


def looks(home: House) -> Iterator[Look]:
    yield from (("get", home.path(route), {}) for route in TABLE if route != "accounts/logout/")
    yield from extra_looks(home)
    yield from exports(home)


def readable(answer: HttpResponseBase) -> str:
    """Return the whole response as text, with its headers and any archive unpacked."""
    body = read_body(answer)
    if answer.headers.get("content-type") == "application/zip":
        packed = ZipFile(BytesIO(body))
        body = b"".join(name.encode() + packed.read(name) for name in packed.namelist())
    return f"{answer.headers}{body.decode(errors='replace')}"


@pytest.mark.thorough
def test_nobody_reads_a_word_without_permission_or_record(
    filled_house: Canaries,
) -> None:
    seen: set[str] = set()
    leaks = [
        leak
        for name in (*CAST, *FORMER)
        for leak in filled_house.leaks(name, looks(filled_house.house), seen)
    ]
    assert leaks == []
    unseen = set(expand_fields(FILLED)) - {filled_house.words[word].field for word in seen}
    assert unseen == {name for name, of in expand_fields(FILLED).items() if of is NOBODY}, (
        "nobody looks"
    )


@pytest.mark.parametrize("name", ["rita", "olive"])
def test_a_reviewer_reads_no_word_of_alice_without_an_opening(
    filled_house: Canaries, name: str
) -> None:
    Opening.objects.all().delete()
    seen: set[str] = set()
    for look in looks(filled_house.house):
        seen |= set(WORD.findall(filled_house.response_to(name, look)))
    read = {filled_house.words[word] for word in seen}
    assert {text.field for text in read if name not in text.audience.freely} <= FACTS


@pytest.mark.thorough
@pytest.mark.parametrize("names", [(*CAST[:-2], *FORMER), ("olive",), ("adam",)])
def test_no_response_to_a_post_leaks_a_word(filled_house: Canaries, names: tuple[str, ...]) -> None:
    """Posts that change the house, as an administrator's may, too: so each of them has it alone."""
    leaks = [
        leak
        for name in names
        for leak in filled_house.leaks(name, posts(filled_house.house, name), set())
    ]
    assert leaks == []
    assert Message.objects.filter(conversation=filled_house.house.conversation).exists()


def posts(home: House, name: str) -> Iterator[Look]:
    mine = HERS if name == "alice" else ()
    for route in TABLE:
        if route not in (*OWN, *mine, DELETING):
            yield "post", home.path(route), PLAUSIBLE
