"""What reviewers keep of what they look for: views, and random samples."""

from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

import pytest
from django.test import Client

from chatapp.accounts.erasing import erase
from chatapp.models import (
    AuditEvent,
    Conversation,
    ReviewSample,
    ReviewView,
    SampleMember,
    User,
    review_finds,
)
from tests.conftest import PASSWORD, signed_in
from tests.staff.review.conftest import Begin, review_of
from tests.staff.review.test_lists import found
from tests.staff.review.told import told_by

pytestmark = pytest.mark.django_db

SAVE, DRAW = "/review/views/save/", "/review/samples/draw/"
MARKUP = "<b>bold</b>"


@pytest.fixture
def bobs(db: None) -> Client:
    return signed_in(User.objects.create_user("bob", is_staff=True, reviews=True))


def told(client: Client, address: str, **sent: object) -> str:
    answer = client.post(address, sent, follow=True)
    return told_by(answer.text)


def test_a_view_leads_back_to_what_was_asked(ritas: Client, bobs: Client, begin: Begin) -> None:
    begin()
    assert "is saved" in told(ritas, SAVE, name=MARKUP, model="one", verdict="none", after="x")
    view = ReviewView.objects.get()
    assert view.asked == {"model": "one", "verdict": "none"}
    page = ritas.get("/review/").text
    assert "?model=one&amp;verdict=none" in page
    assert (MARKUP in page, "&lt;b&gt;bold" in page) == (False, True)
    assert "?model=one" not in bobs.get("/review/").text
    assert "is saved" in told(ritas, SAVE, name=MARKUP, model="one", is_shared="on")
    assert ReviewView.objects.get().asked == {"model": "one"}
    assert "?model=one" in bobs.get("/review/").text
    event = AuditEvent.objects.filter(action="reviewview.saved").latest("sequence")
    assert event.detail.said["asked"] == {"model": "one"}


def test_its_maker_alone_deletes_it(ritas: Client, bobs: Client) -> None:
    told(ritas, SAVE, name="One", model="one", is_shared="on")
    address = f"/review/views/{ReviewView.objects.get().pk}/delete/"
    assert bobs.post(address).status_code == 404
    assert "was deleted" in told(ritas, address)
    assert not ReviewView.objects.exists()


def test_a_view_of_nothing_or_without_a_name_is_none(ritas: Client) -> None:
    assert "Narrow the list first" in told(ritas, SAVE, name="All")
    assert "Give it a name first" in told(ritas, SAVE, name=" ", model="one")
    assert "at most 60" in told(ritas, SAVE, name="x" * 61, model="one")
    assert not ReviewView.objects.exists()


def test_a_sample_is_a_share_of_what_was_found_and_stays_so(ritas: Client, begin: Begin) -> None:
    wanted = [begin(model="one") for _ in range(8)]
    begin(model="two")
    assert "Half has 4 conversations" in told(ritas, DRAW, name="Half", share="50", model="one")
    sample = ReviewSample.objects.get()
    drawn = found(ritas, sample=sample.pk)
    assert len(drawn) == 4
    assert set(drawn) <= {str(one.pk) for one in wanted}
    begin(model="one")
    assert found(ritas, sample=sample.pk) == drawn
    event = AuditEvent.objects.get(action="reviewsample.drawn")
    known = {name: event.detail.said[name] for name in ("asked", "share", "size")}
    assert known == {"asked": {"model": "one"}, "share": "50", "size": 4}
    review_of(Conversation.objects.get(pk=drawn[0])).decide(
        "fine", User.objects.get(username="rita")
    )
    Conversation.objects.get(pk=drawn[1]).delete()
    page = ritas.get("/review/", {"sample": sample.pk}).text
    assert "1 of 3 decided" in " ".join(page.split())
    assert "was deleted" in told(ritas, f"/review/samples/{sample.pk}/delete/")
    assert not SampleMember.objects.exists()
    assert Conversation.objects.count() == 9


def test_each_is_as_likely_as_any_other(ritas: Client, begin: Begin) -> None:
    """Of four, two at a time: after sixty draws each was there."""
    four = {begin().pk for _ in range(4)}
    drawn: set[object] = set()
    for number in range(60):
        told(ritas, DRAW, name=f"Sample {number}", share="50")
        if (
            drawn := drawn | set(SampleMember.objects.values_list("conversation", flat=True))
        ) == four:
            return
    assert drawn == four


def test_what_makes_no_sample_is_told(ritas: Client, begin: Begin) -> None:
    begin()
    begin()
    assert "Give it a name first" in told(ritas, DRAW, share="5")
    for share in ("", "0", "100.1", "0.05", "many", "NaN", "9" * 400):
        assert "from 0.1 to 100" in told(ritas, DRAW, name="One", share=share), share
    assert "nothing to draw from" in told(ritas, DRAW, name="One", share="5", tool="x")
    assert "not all of the filter" in told(ritas, DRAW, name="One", share="5", since="soon")
    with patch.object(review_finds, "MOST_DRAWN", 1):
        assert "Choose a smaller share" in told(ritas, DRAW, name="One", share="100")
    assert not ReviewSample.objects.exists()
    told(ritas, DRAW, name="One", share="5")
    assert "A sample with this name already exists" in told(ritas, DRAW, name="One", share="5")


class Deleting:
    """Draws all, and the first times one more, which is deleted before it is stored."""

    def __init__(self, times: int) -> None:
        self.times = times

    def sample(self, keys: list[UUID], size: int) -> list[UUID]:
        self.times -= 1
        return [*keys[:size], *([uuid4()] if self.times >= 0 else [])]


@pytest.mark.django_db(transaction=True)
def test_what_is_deleted_while_it_is_drawn_is_left_out(ritas: Client, begin: Begin) -> None:
    conversation = begin()
    with patch.object(review_finds, "SystemRandom", lambda: Deleting(1)):
        assert "deleted just now" in told(ritas, DRAW, name="One", share="100")
    assert not ReviewSample.objects.exists()
    once = Deleting(1)
    with patch.object(review_finds, "SystemRandom", lambda: once):
        assert "One has 1 conversations" in told(ritas, DRAW, name="One", share="100")
    assert SampleMember.objects.get().conversation == conversation
    assert AuditEvent.objects.filter(action="reviewsample.drawn").count() == 1


def test_a_name_that_is_given_while_another_draws_by_it_is_taken(
    ritas: Client, begin: Begin
) -> None:
    begin()
    draw = ReviewSample.draw

    def later(name: str, *drawn: Any) -> ReviewSample:
        ReviewSample.objects.create(name=name, share=1, size=1, asked={})
        return draw(name, *drawn)

    with patch.object(ReviewSample, "draw", later):
        assert "A sample with this name already exists" in told(ritas, DRAW, name="One", share="5")
    assert not AuditEvent.objects.filter(action="reviewsample.drawn").exists()


def test_no_name_of_who_was_erased_is_kept(
    ritas: Client, begin: Begin, alice: User, olive: User
) -> None:
    begin()
    told(ritas, SAVE, name="Hers", person="ALICE")
    told(ritas, DRAW, name="Hers", share="100", person="alice")
    erase([alice])
    assert not ReviewView.objects.exists()
    assert ReviewSample.objects.get().asked == {}


@pytest.mark.parametrize("typed", ["ALICE", " alice ", "Swallow@x.test"])
def test_a_person_is_kept_by_the_username(
    ritas: Client, begin: Begin, alice: User, typed: str
) -> None:
    User.objects.filter(pk=alice.pk).update(email="swallow@x.test")
    begin()
    told(ritas, SAVE, name="Hers", person=typed)
    told(ritas, DRAW, name="Hers", share="100", person=typed)
    assert ReviewView.objects.get().asked == {"person": "alice"}
    assert ReviewSample.objects.get().asked == {"person": "alice"}


@pytest.mark.parametrize("typed", ["Swallow@x.test", " Alice"])
def test_what_was_kept_as_it_was_typed_goes_too(
    ritas: Client, alice: User, olive: User, typed: str
) -> None:
    rita = User.objects.get(username="rita")
    User.objects.filter(pk=alice.pk).update(email="swallow@x.test")
    for number, person in enumerate((typed, "bob")):
        asked = {"person": person, "model": "one"}
        ReviewView.objects.create(maker=rita, name=str(number), asked=asked)
        ReviewSample.objects.create(maker=rita, name=str(number), asked=asked, share=1, size=1)
    ReviewView.objects.create(maker=rita, name="Of nobody", asked={"model": "one"})
    erase([User.objects.get(pk=alice.pk)])
    assert sorted(ReviewView.objects.values_list("name", flat=True)) == ["1", "Of nobody"]
    assert ReviewSample.objects.get(name="0").asked == {}
    assert ReviewSample.objects.get(name="1").asked == {"person": "bob", "model": "one"}


def test_who_is_renamed_is_looked_for_by_the_new_name_and_forgotten_by_it(
    ritas: Client, olives: Client, begin: Begin, alice: User
) -> None:
    conversation = begin()
    told(ritas, SAVE, name="Hers", person="ALICE", model="one")
    told(ritas, DRAW, name="Hers", share="100", person="alice")
    rita = User.objects.get(username="rita")
    ReviewView.objects.create(maker=rita, name="As it was typed", asked={"person": " Alice"})
    ReviewView.objects.create(maker=rita, name="His", asked={"person": "bob"})
    answer = olives.post(
        f"/admin/chatapp/user/{alice.pk}/change/",
        {"username": "alina", "is_active": "on", "date_joined_0": "2026-01-01"},
    )
    assert answer.status_code == 302
    asked = dict(ReviewView.objects.values_list("name", "asked"))
    assert asked == {
        "Hers": {"person": "alina", "model": "one"},
        "As it was typed": {"person": "alina"},
        "His": {"person": "bob"},
    }
    assert ReviewSample.objects.get().asked == {"person": "alina"}
    assert found(ritas, **asked["Hers"]) == [str(conversation.pk)]
    erase([alice])  # as they were called before
    assert ReviewView.objects.get().name == "His"
    assert ReviewSample.objects.get().asked == {}


def test_a_new_person_renames_nobody(ritas: Client, olives: Client, alice: User) -> None:
    told(ritas, SAVE, name="Hers", person="alice")
    new = {"username": "dora", "password1": PASSWORD, "password2": PASSWORD}
    assert olives.post("/admin/chatapp/user/add/", new).status_code == 302
    assert ReviewView.objects.get().asked == {"person": "alice"}


def test_nobodys_name_is_kept(ritas: Client) -> None:
    assert "nobody has this name" in told(ritas, SAVE, name="Hers", person="alice")
    assert not ReviewView.objects.exists()
