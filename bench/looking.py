"""`python -m bench.looking TRIES [PLAN…]`: times the review, filter by filter.

Makes the list's queries, for the first page, one in the middle and the last, and for the contents
of the rows; then the other pages. Prints JSON: for each filter, the largest number of conversations
it finds, and its times in milliseconds. The query plans of the filters named follow on stderr.
"""

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import django

from bench.looked_for import ENOUGH, FIND_NOTHING, Wish, Wishes, policies, wishes

if TYPE_CHECKING:
    from chatapp.models import User
    from chatapp.staff.review.positions import ReviewPosition

STEPPED = (
    *("nothing", "queue", "person", "model rare"),
    *("flagged by any", "cost 1000000000", "sample"),
)
PAGES = 20  # of each kind
Found = Mapping[str, tuple[int | None, list[float]]]


@cache
def reviewer() -> "User":
    from chatapp.models import User

    return User.objects.get(username="reviewer")


def measured(values: Sequence[Wish], tries: int) -> tuple[int, list[float]]:
    """Time the first, middle and last page of each value in turns, at least `tries` in all."""
    from chatapp.staff.review.criteria import ReviewFilter
    from chatapp.staff.review.queue import found_by

    asked = [ReviewFilter(reviewer(), **one) for one in values]
    found = [list(found_by(one).conversations().values_list("updated_at", "pk")) for one in asked]
    each = zip(values, found, strict=True)
    pages = [(one, place) for one, its_own in each for place in places_of(its_own)]
    taken = list(islice(cycle(pages), max(tries, len(pages))))
    return max(map(len, found)), [took(show, one, place) for one, place in taken]


def places_of(found: Sequence[tuple[Any, Any]]) -> Iterator["ReviewPosition | None"]:
    from chatapp.staff.review.pages import PAGE
    from chatapp.staff.review.positions import ReviewPosition

    yield None
    for number in {len(found) // 2, len(found) - PAGE // 2}:
        if 0 < number < len(found):
            yield ReviewPosition(*found[number])


def took(do: Callable[..., object], *given: object) -> float:
    """Return the milliseconds that a call takes."""
    began_at = time.perf_counter()
    do(*given)
    return (time.perf_counter() - began_at) * 1000


def show(wish: Wish, place: "ReviewPosition | None") -> None:
    from chatapp.staff.review.criteria import ReviewFilter
    from chatapp.staff.review.pages import page_of
    from chatapp.staff.review.queue import found_by
    from chatapp.staff.review.rows import rows_of

    asked = ReviewFilter(reviewer(), **wish)
    keys, _ = page_of(found_by(asked), place)
    rows_of(keys, asked.reviewer)


def under_policies(every: Wishes, tries: int) -> Found:
    found = {}
    for policy, (fields, some) in policies(every).items():
        with begun_under(fields):
            for name, values in some.items():
                found[f"{policy}: {name}"] = measured(values, tries)
    return found


@contextmanager
def begun_under(fields: Wish) -> Iterator[None]:
    from chatapp.models import ReviewPolicy
    from chatapp.models.policies.review_policies import ALWAYS

    policy = ReviewPolicy.objects.create(begins_at=ALWAYS, **fields)
    try:
        yield
    finally:
        policy.delete()


def steps(every: Wishes) -> Found:
    """Time the queries for the conversations before and after one, within what a filter finds."""
    from chatapp.staff.review.criteria import ReviewFilter
    from chatapp.staff.review.pages import neighbours_of
    from chatapp.staff.review.queue import found_by

    found = {}
    for name in STEPPED:
        asked = [ReviewFilter(reviewer(), **one) for one in every[name]]
        tries = [
            took(neighbours_of, conversation, one)
            for one in asked
            for conversation in found_by(one)
            .conversations()
            .order_by("?")[: max(4, PAGES // len(asked))]
        ]
        found[f"before and after, {name}"] = None, tries
    return found


def pages(every: Wishes) -> Found:
    """Time pages as a browser requests them, without the network."""
    from django.test import Client
    from django.urls import reverse

    from chatapp.models import Opening
    from chatapp.models.review.readable import reviewable
    from chatapp.staff.review.filters import FilterForm
    from chatapp.staff.review.return_link import query_of

    def client_of(person: "User") -> Client:
        client = Client(headers={"host": "localhost"})
        client.force_login(person)
        client.handler.load_middleware()  # as a running server has done
        return client

    def ask(client: Client, address: str) -> None:
        answer = client.get(address)
        assert answer.status_code == 200, answer

    def asked(*pages: tuple[Client, str]) -> tuple[None, list[float]]:
        ask(*pages[0])  # so that nothing is done for the first time later
        return None, [took(ask, *page) for page in pages]

    browser, some = client_of(reviewer()), list(reviewable().order_by("?")[:PAGES])
    came = query_of(FilterForm({"model": "seldom"}, reviewer=reviewer()))
    each = [(browser, reverse("review-conversation", args=[one.pk]) + came) for one in some]
    found = {
        "the page of the queue": asked(*[(browser, reverse("review"))] * PAGES),
        "the page of the list": asked(*[(browser, reverse("review") + "?show=all")] * PAGES),
        "the page of a conversation": asked(*each),
    }
    for one in some:
        Opening.begin(reviewer(), one, "measured")
    found["the page of an opened conversation"] = asked(*each)
    people = [one["person"] for one in every["person"]] * 3
    found["a person's page of privacy"] = asked(
        *((client_of(one), reverse("privacy")) for one in people)
    )
    return found


def plans(values: Sequence[Wish]) -> Iterator[str]:
    from chatapp.staff.review.criteria import ReviewFilter
    from chatapp.staff.review.pages import PAGE
    from chatapp.staff.review.queue import found_by

    for one in values:
        found = (
            found_by(ReviewFilter(reviewer(), **one))
            .conversations()
            .values("pk", "updated_at")[: PAGE + 1]
        )
        yield f"{one}\n{found.explain(analyze=True, buffers=True)}\n"


def main(tries: int, planned: Sequence[str]) -> None:
    from django.db import connection

    from chatapp.models import Conversation

    every = wishes()
    for name in planned:
        print("\n".join(plans(every[name])), file=sys.stderr)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")  # opens the connection
    gc.collect()
    gc.freeze()  # as a server does, whose collections have nothing old to look through
    found = {
        **{name: measured(values, tries) for name, values in every.items()},
        **under_policies(every, tries),
        **steps(every),
        **pages(every),
    }
    empty = {name for name, (count, _) in found.items() if count == 0}
    allowed = FIND_NOTHING if Conversation.objects.count() >= ENOUGH else empty
    if not FIND_NOTHING <= empty <= allowed:
        sys.exit(f"Where something is to be found, and where nothing: {empty ^ FIND_NOTHING}")
    print(json.dumps(found))


if __name__ == "__main__":
    django.setup()
    main(int(sys.argv[1]), sys.argv[2:])
