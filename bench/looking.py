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
    from chatapp.staff.review.finding.positions import ReviewPosition

STEPPED = (
    *("nothing", "queue", "person", "model rare"),
    *("flagged by any", "cost 1000000000", "sample"),
)
PAGES = 20  # of each kind
Results = Mapping[str, tuple[int | None, list[float]]]


@cache
def reviewer() -> "User":
    from chatapp.models import User

    return User.objects.get(username="reviewer")


def time_pages(values: Sequence[Wish], tries: int) -> tuple[int, list[float]]:
    """Time the first, middle and last page of each value in turns, at least `tries` in all."""
    from chatapp.staff.review.finding.criteria import ReviewFilter
    from chatapp.staff.review.finding.queue import find_matches

    filters = [ReviewFilter(reviewer(), **wish) for wish in values]
    matches = [
        list(find_matches(review_filter).conversations().values_list("updated_at", "pk"))
        for review_filter in filters
    ]
    each = zip(values, matches, strict=True)
    pages = [(query, place) for query, its_own in each for place in pick_positions(its_own)]
    taken = list(islice(cycle(pages), max(tries, len(pages))))
    return max(map(len, matches)), [time_call(show, query, place) for query, place in taken]


def pick_positions(matches: Sequence[tuple[Any, Any]]) -> Iterator["ReviewPosition | None"]:
    from chatapp.staff.review.finding.positions import ReviewPosition
    from chatapp.staff.review.lists.pages import PAGE

    yield None
    for number in {len(matches) // 2, len(matches) - PAGE // 2}:
        if 0 < number < len(matches):
            yield ReviewPosition(*matches[number])


def time_call(do: Callable[..., object], *arguments: object) -> float:
    """Return the milliseconds that a call takes."""
    began_at = time.perf_counter()
    do(*arguments)
    return (time.perf_counter() - began_at) * 1000


def show(wish: Wish, place: "ReviewPosition | None") -> None:
    from chatapp.staff.review.finding.criteria import ReviewFilter
    from chatapp.staff.review.finding.queue import find_matches
    from chatapp.staff.review.lists.pages import load_page_keys
    from chatapp.staff.review.lists.rows import load_rows

    review_filter = ReviewFilter(reviewer(), **wish)
    keys, _ = load_page_keys(find_matches(review_filter), place)
    load_rows(keys, review_filter.reviewer)


def under_policies(every: Wishes, tries: int) -> Results:
    results = {}
    for policy, (fields, some) in policies(every).items():
        with under_policy(fields):
            for name, values in some.items():
                results[f"{policy}: {name}"] = time_pages(values, tries)
    return results


@contextmanager
def under_policy(fields: Wish) -> Iterator[None]:
    from chatapp.models import ReviewPolicy
    from chatapp.models.policies.review_policies import ALWAYS

    policy = ReviewPolicy.objects.create(begins_at=ALWAYS, **fields)
    try:
        yield
    finally:
        policy.delete()


def steps(every: Wishes) -> Results:
    """Time the queries for the conversations before and after one, within what a filter finds."""
    from chatapp.staff.review.finding.criteria import ReviewFilter
    from chatapp.staff.review.finding.queue import find_matches
    from chatapp.staff.review.lists.pages import find_neighbours

    results = {}
    for name in STEPPED:
        filters = [ReviewFilter(reviewer(), **wish) for wish in every[name]]
        tries = [
            time_call(find_neighbours, conversation, review_filter)
            for review_filter in filters
            for conversation in find_matches(review_filter)
            .conversations()
            .order_by("?")[: max(4, PAGES // len(filters))]
        ]
        results[f"before and after, {name}"] = None, tries
    return results


def pages(every: Wishes) -> Results:
    """Time pages as a browser requests them, without the network."""
    from django.test import Client
    from django.urls import reverse

    from chatapp.models import Opening
    from chatapp.models.review.readable import reviewable
    from chatapp.staff.review.finding.filters import FilterForm
    from chatapp.staff.review.lists.return_link import build_query

    def sign_in(person: "User") -> Client:
        client = Client(headers={"host": "localhost"})
        client.force_login(person)
        client.handler.load_middleware()  # as a running server has done
        return client

    def ask(client: Client, address: str) -> None:
        answer = client.get(address)
        assert answer.status_code == 200, answer

    def time_addresses(*pages: tuple[Client, str]) -> tuple[None, list[float]]:
        ask(*pages[0])  # so that nothing is done for the first time later
        return None, [time_call(ask, *page) for page in pages]

    browser, some = sign_in(reviewer()), list(reviewable().order_by("?")[:PAGES])
    query = build_query(FilterForm({"model": "seldom"}, reviewer=reviewer()))
    each = [
        (browser, reverse("review-conversation", args=[conversation.pk]) + query)
        for conversation in some
    ]
    results = {
        "the page of the queue": time_addresses(*[(browser, reverse("review"))] * PAGES),
        "the page of the list": time_addresses(
            *[(browser, reverse("review") + "?show=all")] * PAGES
        ),
        "the page of a conversation": time_addresses(*each),
    }
    for chat in some:
        Opening.begin(reviewer(), chat, "measured")
    results["the page of an opened conversation"] = time_addresses(*each)
    people = [wish["person"] for wish in every["person"]] * 3
    results["a person's page of privacy"] = time_addresses(
        *((sign_in(person), reverse("privacy")) for person in people)
    )
    return results


def plans(values: Sequence[Wish]) -> Iterator[str]:
    from chatapp.staff.review.finding.criteria import ReviewFilter
    from chatapp.staff.review.finding.queue import find_matches
    from chatapp.staff.review.lists.pages import PAGE

    for wish in values:
        conversations = (
            find_matches(ReviewFilter(reviewer(), **wish))
            .conversations()
            .values("pk", "updated_at")[: PAGE + 1]
        )
        yield f"{wish}\n{conversations.explain(analyze=True, buffers=True)}\n"


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
    results = {
        **{name: time_pages(values, tries) for name, values in every.items()},
        **under_policies(every, tries),
        **steps(every),
        **pages(every),
    }
    empty = {name for name, (count, _) in results.items() if count == 0}
    allowed = FIND_NOTHING if Conversation.objects.count() >= ENOUGH else empty
    if not FIND_NOTHING <= empty <= allowed:
        sys.exit(f"Where something is to be found, and where nothing: {empty ^ FIND_NOTHING}")
    print(json.dumps(results))


if __name__ == "__main__":
    django.setup()
    main(int(sys.argv[1]), sys.argv[2:])
