"""Stepping from one conversation to the next within the results of the list's filter."""

from datetime import timedelta

import pytest
from django.core import signing
from django.test import Client
from django.utils import timezone

from chatapp.models import Conversation, Message, User
from chatapp.staff.review.lists.return_link import SALT
from chatapp.upstream.wire.reply import Ending
from tests.conftest import signed_in
from tests.staff.review.conftest import Begin, get_or_create_review
from tests.support.page import parse
from tests.support.reviewer import list_keys, rows_in

pytestmark = pytest.mark.django_db


def find_links_by_key(client: Client, address: str) -> dict[str, str]:
    """Return the links of a conversation's page by their shortcut key."""
    page = parse(client.get(address).text)
    links = [anchor_attributes.attributes for anchor_attributes in page.find_all("a")]
    return {link["data-key"]: link["href"] for link in links if "data-key" in link}


def find_first_address(client: Client, **filters: str) -> str:
    row = rows_in(client.get("/review/", filters).text)[0]
    return str(row.find("a").attributes["href"])


def key_in(address: str) -> str:
    return address.split("/")[2]


def test_older_and_newer_stay_within_the_filter(ritas: Client, begin: Begin) -> None:
    models = ["one", "two", "one", "two", "one"]
    oldest, _, middle, _, newest = [str(begin(model=model).pk) for model in models]
    walk = [find_first_address(ritas, model="one")]
    while older := find_links_by_key(ritas, walk[-1]).get("o"):
        walk.append(older)
    assert [key_in(step_address) for step_address in walk] == [newest, middle, oldest]
    assert key_in(find_links_by_key(ritas, walk[-1])["p"]) == middle
    assert "p" not in find_links_by_key(ritas, walk[0])
    assert find_links_by_key(ritas, walk[1])["u"] == f"/review/?model=one#c-{middle}"


def test_without_a_filter_every_readable_chat_is_a_step(ritas: Client, begin: Begin) -> None:
    older, middle, newer = [str(begin().pk) for _ in range(3)]
    links = find_links_by_key(ritas, f"/review/{middle}/")
    assert (links["o"], links["p"]) == (f"/review/{older}/", f"/review/{newer}/")
    assert links["u"] == f"/review/#c-{middle}"


@pytest.mark.parametrize(
    "filters", [{"verdict": "none"}, {"replies": "1"}, {"model": "one", "ending": "length"}]
)
def test_a_chat_that_no_longer_matches_still_links_to_its_neighbours(
    ritas: Client, begin: Begin, filters: dict[str, str]
) -> None:
    keys = [str(begin(ending=Ending.LENGTH).pk) for _ in range(3)]
    middle = find_links_by_key(ritas, find_first_address(ritas, **filters))["o"]
    address, _, query = middle.partition("?")
    version = {"version": "0", "verdict": "fine", "unopened": "all"}
    answer = ritas.post(f"{address}verdict/?{query}", version)
    assert answer.headers["Location"] == middle
    review = get_or_create_review(Conversation.objects.get(pk=keys[1]))
    assert review.verdict == "fine"
    links = find_links_by_key(ritas, middle)
    assert (key_in(links["o"]), key_in(links["p"])) == (keys[0], keys[2])


def test_candidates_that_do_not_match_are_skipped_over_many_days(
    ritas: Client, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Model and ending are common, but seldom in one chat, and more seldom in one reply."""
    for name, value in {
        "lists.pages.NEIGHBOUR_BATCH": 5,
        "finding.matches.FIRST_BATCH": 3,
        "finding.matches.PER_MATCH": 1,
        "finding.spreads.MAX_COUNTED": 1,
    }.items():
        monkeypatch.setattr(f"chatapp.staff.review.{name}", value)
    expected_keys: list[str] = []
    for day in range(12):
        both = begin(ending=Ending.FAILED, replies=2)
        for chat in (both, begin(model="one"), begin(model="two", ending=Ending.FAILED)):
            used = timezone.now() - timedelta(days=12 - day)
            Conversation.objects.filter(pk=chat.pk).update(updated_at=used)
        if day in (0, 1, 7, 11):
            expected_keys.insert(0, str(both.pk))
            continue
        other, failed = both.messages.filter(role=Message.Role.ASSISTANT)
        Message.objects.filter(pk=other.pk).update(ending=Ending.COMPLETE)
        Message.objects.filter(pk=failed.pk).update(model="two")
    page = ritas.get("/review/", filters := {"model": "one", "ending": "failed"}).text
    assert list_keys(page) == expected_keys
    walk = [find_first_address(ritas, **filters)]
    while older := find_links_by_key(ritas, walk[-1]).get("o"):
        walk.append(older)
    assert [key_in(step_address) for step_address in walk] == expected_keys
    while newer := find_links_by_key(ritas, walk[-1]).get("p"):
        walk.append(newer)
    assert [key_in(page) for page in walk] == [*expected_keys, *expected_keys[-2::-1]]


def test_stepping_through_a_sample_stays_in_it(ritas: Client, begin: Begin) -> None:
    keys = {str(begin().pk) for _ in range(6)}
    ritas.post("/review/samples/draw/", {"name": "Half", "share": "50"})
    page = parse(ritas.get("/review/").text)
    sample = page.find("select", name="sample").find_all("option")[1].attributes["value"]
    walk = [find_first_address(ritas, sample=sample)]
    while older := find_links_by_key(ritas, walk[-1]).get("o"):
        walk.append(older)
    assert len({key_in(step_address) for step_address in walk}) == len(walk) == 3
    assert {key_in(step_address) for step_address in walk} < keys


def test_stepping_needs_a_filter_whose_list_was_recorded(ritas: Client, begin: Begin) -> None:
    """Neither a made-up filter nor a colleague's is accepted."""
    begin(model="two")
    first_key, other = str(begin(model="one").pk), str(begin(model="two").pk)
    colleague = signed_in(User.objects.create_user("bob", is_staff=True, reviews=True))
    theirs = find_first_address(colleague, model="one").partition("?")[2]
    made_up = "came=" + signing.dumps([1, {"model": "one"}], salt="another")
    for query in (theirs, made_up):
        links = find_links_by_key(ritas, f"/review/{first_key}/?{query}")
        assert links["u"] == f"/review/#c-{first_key}"
        assert links["p"] == f"/review/{other}/"
    rita = User.objects.get(username="rita").pk
    unknown = signing.dumps([rita, {"model": "unknown"}], salt=SALT)
    assert (
        find_links_by_key(ritas, f"/review/{first_key}/?came={unknown}").keys() & {"o", "p"}
        == set()
    )
