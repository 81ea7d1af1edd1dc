"""`python -m bench.looking TRIES [PLAN…]`: how long the review's list takes, filter by filter.

Asks as the page does, for the first page, one in the middle and the last, and for what stands in a
page's rows. Prints JSON: of each filter its tries in milliseconds. The plans of the filters that
are named follow on stderr.
"""

import gc
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import cycle, islice
from typing import Any

import django

from bench.reviewed import DAYS, ENDINGS, MODELS, TOOLS, UPSTREAMS

COSTS = (1_000_000, 20_000_000, 100_000_000, 400_000_000, 1_000_000_000, 5_000_000_000, 10**12)
REPLIES = (1, 2, 5, 10, 20, 30, 45, 100)
PAIRS = (
    *[("person", one) for one in ("model", "cost", "tool", "replies")],
    *[("model", one) for one in ("ending", "feedback", "tool", "upstream", "cost", "replies")],
    *[("model", one) for one in ("flagged", "verdict", "until a day")],
    *[("tool", one) for one in ("ending", "feedback", "cost")],
    ("upstream", "ending"),
    *[("cost", one) for one in ("replies", "verdict", "feedback")],
    ("feedback", "label"),
)
Wish = dict[str, Any]


def wishes() -> dict[str, list[Wish]]:
    """Of each filter, and of pairs, the values that are tried."""
    seeded = random.Random(7)
    values = _values(seeded)
    found: dict[str, list[Wish]] = {
        "nothing": [{}],
        "person": values["person"],
        "since": values["since"],
        "until": values["until a day"],
        "one day": [{**one, "until": one["since"]} for one in values["since"]],
        "flagged": values["flagged"],
        "not flagged": [{"flagged": "none"}],
        "claimed by": [{"claim": one} for one in ("mine", "other", "nobody")],
        "verdict": values["verdict"],
        "no verdict": [{"verdict": "none"}],
        "label": values["label"],
        "feedback": values["feedback"],
        "no feedback": [{"feedback": "none"}],
        "upstream": values["upstream"],
    }
    for name in ("model", "tool", "ending", "cost", "replies"):
        found |= {f"{name} {one[name]}": [one] for one in values[name]}
    for first, second in PAIRS:
        some, others = values[first], values[second]
        joint = "" if second == "until a day" else "and "
        pairs = [one | other for one in some for other in seeded.sample(others, 1)]
        pairs += [seeded.choice(some) | seeded.choice(others) for _ in range(8)]
        found[f"{first} {joint}{second}"] = pairs
    return found


def _values(seeded: random.Random) -> dict[str, list[Wish]]:
    """What filters are asked for, by their names."""
    from django.utils import timezone

    from chatapp.models import ReviewLabel, Upstream, User

    today = timezone.now().date()
    people = list(User.objects.filter(username__startswith="asker").order_by("pk"))
    persons = (people[0], *seeded.sample(people, 6), people[-1])
    days = [today - timedelta(seeded.randrange(DAYS)) for _ in range(8)]
    return {
        "person": [{"person": one} for one in persons],
        "since": [{"since": one} for one in days],
        "until a day": [{"until": one} for one in days],
        "model": [{"model": one} for one in MODELS],
        "upstream": [{"upstream": Upstream.objects.get(name=one).pk} for one in UPSTREAMS],
        "tool": [{"tool": one} for one in (*TOOLS, "none such")],
        "ending": [{"ending": one} for one in ENDINGS],
        "feedback": [{"feedback": one} for one in ("up", "down", "either")],
        "cost": [{"cost": one} for one in COSTS],
        "replies": [{"replies": one} for one in REPLIES],
        "flagged": [{"flagged": "any"}],
        "verdict": [{"verdict": one} for one in ("fine", "minor", "serious", "unclear")],
        "label": [{"label": one.pk} for one in ReviewLabel.objects.all()],
    }


def measured(values: Sequence[Wish], tries: int) -> list[float]:
    """Each value's first page, its middle and its last one, in turns; so many at least."""
    from chatapp.models import User
    from chatapp.review.queries import Asked

    reviewer = User.objects.get(username="reviewer")
    asked = [Asked(reviewer, **one) for one in values]
    pages = [(one, place) for one in asked for place in places_of(one)]
    taken = list(islice(cycle(pages), max(tries, len(pages))))
    return [took(one, place) for one, place in taken]


def places_of(asked: Any) -> Iterator[Any]:
    from chatapp.review.queries import PAGE, Place

    yield None
    found = list(asked.conversations().values_list("updated_at", "pk"))
    for number in {len(found) // 2, len(found) - PAGE // 2}:
        if 0 < number < len(found):
            yield Place(*found[number])


def took(asked: Any, place: Any) -> float:
    """Milliseconds."""
    from chatapp.review.queries import page_of
    from chatapp.review.rows import rows_of

    began_at = time.perf_counter()
    keys, _ = page_of(asked, place)
    rows_of(keys, asked.reviewer)
    return (time.perf_counter() - began_at) * 1000


def neighbours() -> list[float]:
    from chatapp.models import Conversation
    from chatapp.review.queries import neighbours_of

    taken = []
    for one in Conversation.objects.order_by("?")[:20]:
        began_at = time.perf_counter()
        neighbours_of(one)
        taken.append((time.perf_counter() - began_at) * 1000)
    return taken


def plans(values: Sequence[Wish]) -> Iterator[str]:
    from chatapp.models import User
    from chatapp.review.queries import PAGE, Asked

    reviewer = User.objects.get(username="reviewer")
    for one in values:
        found = Asked(reviewer, **one).conversations().values("pk", "updated_at")[: PAGE + 1]
        yield f"{one}\n{found.explain(analyze=True, buffers=True)}\n"


def main(tries: int, planned: Sequence[str]) -> None:
    from django.db import connection

    every = wishes()
    for name in planned:
        print("\n".join(plans(every[name])), file=sys.stderr)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")  # the connection is there
    gc.collect()
    gc.freeze()  # as a server does, which has nothing old to look through
    found = {name: measured(values, tries) for name, values in every.items()}
    print(json.dumps(found | {"the ones before and after": neighbours()}))


if __name__ == "__main__":
    django.setup()
    main(int(sys.argv[1]), sys.argv[2:])
