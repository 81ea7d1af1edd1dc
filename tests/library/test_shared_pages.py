"""The pages that prompts and presets share: Alice owns one, and Bob may do what she lets him."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from chatapp.library.kinds import Kind
from chatapp.library.presets.kind import PRESETS
from chatapp.library.prompts.kind import PROMPTS
from chatapp.models import Installation, User
from chatapp.models.library.sharing import Level
from tests.support.page import parse

pytestmark = pytest.mark.django_db

POSTED = {"title": "Other", "text": "Text", "name": "Other", "icon": "code"}


@pytest.fixture(params=[PROMPTS, PRESETS], ids=["prompt", "preset"])
def kind(request: pytest.FixtureRequest) -> Kind[Any]:
    kind: Kind[Any] = request.param
    return kind


@pytest.fixture
def item(kind: Kind[Any], alice: User) -> Any:
    return kind.model.start(alice, **{kind.model.NAME: "Mine"})


def path(item: Any, part: str = "") -> str:
    kind = "prompts" if isinstance(item, PROMPTS.model) else "presets"
    return f"/{kind}/{item.pk}/{part}"


def count(kind: Kind[Any], owner: User) -> int:
    return int(kind.model.objects.owned_by(owner).count())


@pytest.mark.parametrize("level", [None, *Level])
def test_each_page_is_open_to_those_with_the_right(
    bobs: Client, alice: User, bob: User, kind: Kind[Any], item: Any, level: Level | None
) -> None:
    if level:
        item.share(None, level, alice)
    for part, needed in (("", Level.USE), ("versions/", Level.READ)):
        may = bool(level and level >= needed)
        assert bobs.get(path(item, part)).status_code == (200 if may else 404), part
    changed = bobs.post(path(item), POSTED | {"opened": "1"})
    restored = bobs.post(path(item, "versions/"), {"number": "1", "opened": "2"})
    assert changed.status_code == restored.status_code == (302 if level == Level.EDIT else 404)
    assert bobs.get(path(item, "sharing/")).status_code == 404
    for part in ("delete/", "restore/", "sharing/"):
        assert bobs.post(path(item, part), {"to": "everyone"}).status_code == 404
    may_copy = bool(level and level >= kind.copied_at)
    assert bobs.post(path(item, "copy/")).status_code == (302 if may_copy else 404)
    assert count(kind, bob) == may_copy
    item.refresh_from_db()
    assert (item.version, item.deleted_at) == (3 if level == Level.EDIT else 1, None)
    assert str(item) == "Mine"


@pytest.mark.parametrize("part", ["", "versions/", "sharing/"])
def test_ids_of_nothing_are_missing_pages(alices: Client, kind: Kind[Any], part: str) -> None:
    assert alices.get(f"/{kind.plural}/{uuid4()}/{part}").status_code == 404


def test_a_change_meanwhile_is_told_and_what_was_typed_is_kept(
    alices: Client, alice: User, bob: User, kind: Kind[Any], item: Any
) -> None:
    item.share(None, Level.EDIT, alice)
    kind.model.objects.get(pk=item.pk).change(bob, 1, **{item.NAME: "Bob's"})
    page = alices.post(path(item), POSTED | {"opened": "1"}).text
    assert "bob has changed this since you opened it" in page
    assert 'value="Other"' in page
    assert parse(page).find("input", name="opened").attributes["value"] == "2"
    alices.post(path(item), POSTED | {"opened": "2"})
    item.refresh_from_db()
    assert (str(item), item.version) == ("Other", 3)


def test_a_version_is_restored_unless_somebody_saved_meanwhile(
    alices: Client, alice: User, bob: User, kind: Kind[Any], item: Any
) -> None:
    item.share(None, Level.EDIT, alice)
    kind.model.objects.get(pk=item.pk).change(bob, 1, **{item.NAME: "Bob's"})
    address = path(item, "versions/")
    page = alices.get(address).text
    assert page.index("Version 2") < page.index(">bob<") < page.index("Version 1")
    page = alices.post(address, {"number": "1", "opened": "1"}, follow=True).text
    assert "bob has changed this since you opened it. Nothing was restored." in page
    page = alices.post(address, {"number": "1", "opened": "2"}, follow=True).text
    assert "Version 1 was restored as version 3." in page
    for number in ("99", "x", "-1", "0", "9" * 5000, ""):
        page = alices.post(address, {"number": number, "opened": "3"}, follow=True).text
        assert "no longer exists" in page
    item.refresh_from_db()
    assert (str(item), item.version) == ("Mine", 3)


def test_the_owner_shares_and_stops_sharing(
    alices: Client, bobs: Client, alice: User, bob: User, kind: Kind[Any], item: Any
) -> None:
    team, strangers = (Group.objects.create(name=name) for name in ("team", "strangers"))
    team.user_set.add(alice, bob)
    address = path(item, "sharing/")
    page = alices.post(address, {"to": team.pk, "level": "2"}, follow=True).text
    assert "Can use and read it" in page
    assert "strangers" not in page
    assert "Shared with <span" in alices.get(f"/{kind.plural}/").text
    assert "By <span" in bobs.get(f"/{kind.plural}/").text
    refused = alices.post(address, {"to": strangers.pk, "level": "1"}).text
    assert "a group that you belong to" in refused
    for wrong in ({"to": "x", "level": "9"}, {}):
        assert alices.post(address, wrong).status_code == 200
    grant = item.grants.get()
    assert (grant.group, grant.level) == (team, Level.READ)
    alices.post(address, {"remove": "9" * 400})
    assert item.grants.exists()
    assert "Only you" in alices.post(address, {"remove": grant.pk}, follow=True).text
    assert not item.grants.exists()


def test_who_may_not_share_is_told_so(alices: Client, item: Any) -> None:
    Installation(pk=1, who_shares="administrators").save()
    address = path(item, "sharing/")
    assert "An administrator has decided who may share." in alices.get(address).text
    assert "decided who may" in alices.post(address, {"to": "everyone", "level": "1"}).text
    assert not item.grants.exists()


def test_a_deleted_item_can_be_restored(alices: Client, kind: Kind[Any], item: Any) -> None:
    page = alices.post(path(item, "delete/"), follow=True).text
    assert "at the end of this page" in page
    assert "Restore<span" in page
    assert alices.get(path(item)).status_code == 404
    assert "Restored." in alices.post(path(item, "restore/"), follow=True).text
    assert alices.post(path(item, "restore/")).status_code == 404


def test_a_copy_of_ones_own_has_another_name(
    alices: Client, alice: User, kind: Kind[Any], item: Any
) -> None:
    long = kind.model.start(alice, **{kind.model.NAME: "x" * 80})
    for original in (item, long):
        assert (
            f"Saved as a {kind.name} of your own."
            in alices.post(path(original, "copy/"), follow=True).text
        )
    names = set(map(str, kind.model.objects.all()))
    assert names == {"Mine", "Mine (copy)", "x" * 80, "x" * 73 + " (copy)"}


def test_a_person_has_a_limited_number(
    alices: Client,
    alice: User,
    kind: Kind[Any],
    item: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deleted = kind.model.start(alice, **{kind.model.NAME: "Deleted"})
    deleted.discard()
    monkeypatch.setattr(type(kind), "max_owned", 1)
    for address in (*(f"/{kind.plural}/new/", path(item, "copy/"), path(deleted, "restore/")),):
        page = alices.post(address, POSTED, follow=True).text
        assert f"You can have 1 {kind.plural} at most, and have 1." in page
    assert count(kind, alice) == 1


def test_a_person_has_a_limited_amount(
    alices: Client, alice: User, kind: Kind[Any], item: Any, settings: Any
) -> None:
    settings.CHATAPP_STORED_BYTES_PER_PERSON = 10
    fields = POSTED | {"number": "1", "opened": "1"}
    for address in (f"/{kind.plural}/new/", *(path(item, part) for part in ("", "copy/"))):
        assert "you may use" in alices.post(address, fields, follow=True).text
    assert "you may use" in alices.post(path(item, "versions/"), fields, follow=True).text
    assert count(kind, alice) == 1
