"""Saved views and random samples."""

from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

import pytest
from django.test import Client

from chatapp.erasure.people import erase
from chatapp.models import AuditEvent, Conversation, ReviewSample, ReviewView, SampleMember, User
from chatapp.models.review import saved_views
from tests.conftest import signed_in
from tests.staff.review.conftest import Begin, get_or_create_review
from tests.staff.review.test_lists import find_keys
from tests.staff.review.told import read_messages

pytestmark = pytest.mark.django_db

SAVE, DRAW = "/review/views/save/", "/review/samples/draw/"
MARKUP = "<b>bold</b>"


@pytest.fixture
def bobs(db: None) -> Client:
    return signed_in(User.objects.create_user("bob", is_staff=True, reviews=True))


def post(client: Client, address: str, **sent: object) -> str:
    answer = client.post(address, sent, follow=True)
    return read_messages(answer.text)


def test_a_view_restores_its_filter(ritas: Client, bobs: Client, begin: Begin) -> None:
    begin()
    assert "was saved" in post(ritas, SAVE, name=MARKUP, model="one", verdict="none", after="x")
    view = ReviewView.objects.get()
    assert view.filters == {"model": "one", "verdict": "none"}
    page = ritas.get("/review/").text
    assert "?model=one&amp;verdict=none" in page
    assert (MARKUP in page, "&lt;b&gt;bold" in page) == (False, True)
    assert "?model=one" not in bobs.get("/review/").text
    assert "was saved" in post(ritas, SAVE, name=MARKUP, model="one", is_shared="on")
    assert ReviewView.objects.get().filters == {"model": "one"}
    assert "?model=one" in bobs.get("/review/").text
    event = AuditEvent.objects.filter(action="reviewview.saved").latest("sequence")
    assert event.detail.values["asked"] == {"model": "one"}


def test_only_its_maker_can_delete_a_view(ritas: Client, bobs: Client) -> None:
    post(ritas, SAVE, name="One", model="one", is_shared="on")
    address = f"/review/views/{ReviewView.objects.get().pk}/delete/"
    assert bobs.post(address).status_code == 404
    assert "was deleted" in post(ritas, address)
    assert not ReviewView.objects.exists()


def test_a_view_needs_a_filter_and_a_name(ritas: Client) -> None:
    assert "Filter the list first" in post(ritas, SAVE, name="All")
    assert "Enter a name first" in post(ritas, SAVE, name=" ", model="one")
    assert "at most 60" in post(ritas, SAVE, name="x" * 61, model="one")
    assert not ReviewView.objects.exists()


def test_a_sample_is_a_fixed_share_of_the_results(ritas: Client, begin: Begin) -> None:
    matching_chats = [begin(model="one") for _ in range(8)]
    begin(model="two")
    assert "Half has 4 chats" in post(ritas, DRAW, name="Half", share="50", model="one")
    sample = ReviewSample.objects.get()
    drawn = find_keys(ritas, sample=sample.pk)
    assert len(drawn) == 4
    assert set(drawn) <= {str(chat.pk) for chat in matching_chats}
    begin(model="one")
    assert find_keys(ritas, sample=sample.pk) == drawn
    event = AuditEvent.objects.get(action="reviewsample.drawn")
    recorded_values = {name: event.detail.values[name] for name in ("asked", "share", "size")}
    assert recorded_values == {"asked": {"model": "one"}, "share": "50", "size": 4}
    get_or_create_review(Conversation.objects.get(pk=drawn[0])).decide(
        "fine", User.objects.get(username="rita")
    )
    Conversation.objects.get(pk=drawn[1]).delete()
    page = ritas.get("/review/", {"sample": sample.pk}).text
    assert "1 of 3 reviewed" in " ".join(page.split())
    assert "was deleted" in post(ritas, f"/review/samples/{sample.pk}/delete/")
    assert not SampleMember.objects.exists()
    assert Conversation.objects.count() == 9


def test_any_chat_can_be_drawn(ritas: Client, begin: Begin) -> None:
    """Two of four are drawn at a time; within sixty draws, each is drawn at least once."""
    four = {begin().pk for _ in range(4)}
    drawn: set[object] = set()
    for number in range(60):
        post(ritas, DRAW, name=f"Sample {number}", share="50")
        if (
            drawn := drawn | set(SampleMember.objects.values_list("conversation", flat=True))
        ) == four:
            return
    assert drawn == four


def test_invalid_samples_are_refused(ritas: Client, begin: Begin) -> None:
    begin()
    begin()
    assert "Enter a name first" in post(ritas, DRAW, share="5")
    for share in ("", "0", "100.1", "0.05", "many", "NaN", "9" * 400):
        assert "from 0.1 to 100" in post(ritas, DRAW, name="One", share=share), share
    assert "nothing to draw from" in post(ritas, DRAW, name="One", share="5", tool="x")
    assert "the filter has errors" in post(ritas, DRAW, name="One", share="5", since="soon")
    with patch.object(saved_views, "MAX_DRAWN", 1):
        assert "Choose a smaller share" in post(ritas, DRAW, name="One", share="100")
    assert not ReviewSample.objects.exists()
    post(ritas, DRAW, name="One", share="5")
    assert "A sample with this name already exists" in post(ritas, DRAW, name="One", share="5")


class DrawsDeleted:
    """Draws what there is and, the first `times`, also a conversation that is gone by then."""

    def __init__(self, times: int) -> None:
        self.times = times

    def sample(self, keys: list[UUID], size: int) -> list[UUID]:
        self.times -= 1
        return [*keys[:size], *([uuid4()] if self.times >= 0 else [])]


@pytest.mark.django_db(transaction=True)
def test_a_chat_deleted_during_the_draw_is_left_out(ritas: Client, begin: Begin) -> None:
    conversation = begin()
    with patch.object(saved_views, "SystemRandom", lambda: DrawsDeleted(1)):
        assert "being deleted right now" in post(ritas, DRAW, name="One", share="100")
    assert not ReviewSample.objects.exists()
    once = DrawsDeleted(1)
    with patch.object(saved_views, "SystemRandom", lambda: once):
        assert "One has 1 chat." in post(ritas, DRAW, name="One", share="100")
    assert SampleMember.objects.get().conversation == conversation
    assert AuditEvent.objects.filter(action="reviewsample.drawn").count() == 1


def test_a_sample_name_taken_during_the_draw_is_refused(ritas: Client, begin: Begin) -> None:
    begin()
    draw = ReviewSample.draw

    def later(name: str, *drawn: Any) -> ReviewSample:
        ReviewSample.objects.create(name=name, share=1, size=1, filters={})
        return draw(name, *drawn)

    with patch.object(ReviewSample, "draw", later):
        assert "A sample with this name already exists" in post(ritas, DRAW, name="One", share="5")
    assert not AuditEvent.objects.filter(action="reviewsample.drawn").exists()


def test_erasing_a_person_removes_views_and_filters_that_name_them(
    ritas: Client, begin: Begin, alice: User, olive: User
) -> None:
    begin()
    post(ritas, SAVE, name="Hers", person="ALICE")
    post(ritas, DRAW, name="Hers", share="100", person="alice")
    erase([alice])
    assert not ReviewView.objects.exists()
    assert ReviewSample.objects.get().filters == {}


@pytest.mark.parametrize("typed", ["ALICE", " alice ", "Swallow@x.test"])
def test_a_person_is_stored_by_username(
    ritas: Client, begin: Begin, alice: User, typed: str
) -> None:
    User.objects.filter(pk=alice.pk).update(email="swallow@x.test")
    begin()
    post(ritas, SAVE, name="Hers", person=typed)
    post(ritas, DRAW, name="Hers", share="100", person=typed)
    assert ReviewView.objects.get().filters == {"person": "alice"}
    assert ReviewSample.objects.get().filters == {"person": "alice"}


@pytest.mark.parametrize("typed", ["Swallow@x.test", " Alice"])
def test_erasing_also_finds_names_stored_as_typed(
    ritas: Client, alice: User, olive: User, typed: str
) -> None:
    rita = User.objects.get(username="rita")
    User.objects.filter(pk=alice.pk).update(email="swallow@x.test")
    for number, person in enumerate((typed, "bob")):
        filters = {"person": person, "model": "one"}
        ReviewView.objects.create(maker=rita, name=str(number), filters=filters)
        ReviewSample.objects.create(maker=rita, name=str(number), filters=filters, share=1, size=1)
    ReviewView.objects.create(maker=rita, name="Of nobody", filters={"model": "one"})
    erase([User.objects.get(pk=alice.pk)])
    assert sorted(ReviewView.objects.values_list("name", flat=True)) == ["1", "Of nobody"]
    assert ReviewSample.objects.get(name="0").filters == {}
    assert ReviewSample.objects.get(name="1").filters == {"person": "bob", "model": "one"}


def test_renaming_a_person_updates_stored_filters_and_erasing_finds_them(
    ritas: Client, olives: Client, begin: Begin, alice: User
) -> None:
    conversation = begin()
    post(ritas, SAVE, name="Hers", person="ALICE", model="one")
    post(ritas, DRAW, name="Hers", share="100", person="alice")
    rita = User.objects.get(username="rita")
    ReviewView.objects.create(maker=rita, name="As it was typed", filters={"person": " Alice"})
    ReviewView.objects.create(maker=rita, name="His", filters={"person": "bob"})
    assert olives.post(f"/people/{alice.pk}/name/", {"username": "alina"}).status_code == 302
    filters = dict(ReviewView.objects.values_list("name", "filters"))
    assert filters == {
        "Hers": {"person": "alina", "model": "one"},
        "As it was typed": {"person": "alina"},
        "His": {"person": "bob"},
    }
    assert ReviewSample.objects.get().filters == {"person": "alina"}
    assert find_keys(ritas, **filters["Hers"]) == [str(conversation.pk)]
    erase([alice])  # the instance still has the old username
    assert ReviewView.objects.get().name == "His"
    assert ReviewSample.objects.get().filters == {}


def test_a_view_of_an_unknown_person_is_refused(ritas: Client) -> None:
    assert "no one has this name" in post(ritas, SAVE, name="Hers", person="alice")
    assert not ReviewView.objects.exists()
