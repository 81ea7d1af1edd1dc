"""The queries of the review benchmark (`bench.looking`): many values for each filter and for pairs
of filters, and the same filters under other policies."""

import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from bench.reviewed import CATEGORIES, DAYS, ENDINGS, GROUPS, MODELS, RULES, TOOLS, UPSTREAMS

COSTS = (1_000_000, 20_000_000, 100_000_000, 400_000_000, 1_000_000_000, 5_000_000_000, 10**12)
REPLIES = (1, 2, 5, 10, 20, 30, 45, 100)
CHARACTERS = (1, 1_000, 3_000, 10_000, 15_000, 20_000, 10**6)
# From common to rare: in a third of the messages, in one of hundreds, in a few, in none.
SEARCHES = ("wordb", "wordcb", "worddab", "wordfaab", "wordeabab", "wordb worddab", "none such")
PAIRS = (
    *[("person", second) for second in ("model", "cost", "tool", "replies", "characters")],
    *[
        ("model", second)
        for second in ("ending", "feedback", "tool", "upstream", "cost", "replies")
    ],
    *[("model", second) for second in ("flagged", "verdict", "until a day", "characters")],
    *[("tool", second) for second in ("ending", "feedback", "cost")],
    ("upstream", "ending"),
    *[("cost", second) for second in ("replies", "verdict", "feedback", "characters")],
    ("feedback", "label"),
    *[("flagged", second) for second in ("person", "verdict", "cost")],
    *[("group", second) for second in ("model", "flagged")],
    *[("search", second) for second in ("person", "model", "until a day")],
    *[("category", second) for second in ("model", "verdict")],
    *[("sample", second) for second in ("no verdict", "model")],
)
ENOUGH = 100_000  # conversations, enough for every other filter to find some
# Filters that find nothing, and should be as fast.
FIND_NOTHING = {
    *("tool none such", "cost 1000000000000", "replies 100", "characters 1000000"),
    "search none such",
    "names hidden: group",  # or it would reveal its people
}
Wish = dict[str, Any]
Wishes = Mapping[str, list[Wish]]


def wishes() -> Wishes:
    """Return the values to try for each filter, and for pairs of filters."""
    seeded = random.Random(7)
    values = _values(seeded)
    queries: dict[str, list[Wish]] = {
        "nothing": [{}],
        "queue": [{"show": "queue"}],
        "queue and model": [query | {"show": "queue"} for query in values["model"]],
        "decided": [{"show": "decided"}],
        "person": values["person"],
        "since": values["since"],
        "until": values["until a day"],
        "one day": [{**query, "until": query["since"]} for query in values["since"]],
        "claimed by": [{"claim": claim} for claim in ("mine", "other", "nobody")],
        "verdict": values["verdict"],
        "no verdict": values["no verdict"],
        "label": values["label"],
        "feedback": values["feedback"],
        "no feedback": [{"feedback": "none"}],
        "not flagged": [{"flagged": "none"}],
        "upstream": values["upstream"],
        "sample": values["sample"],
    }
    for value in values["flagged"]:
        queries[f"flagged by {value['flagged']}"] = [value]
    for name, group in zip(GROUPS, values["group"], strict=True):
        queries[f"group of {name}"] = [group]
    for name in ("model", "tool", "ending", "cost", "replies", "characters", "category"):
        queries |= {f"{name} {query[name]}": [query] for query in values[name]}
    queries |= {f"search {query['search'].words}": [query] for query in values["search"]}
    for first, second in PAIRS:
        some, others = values[first], values[second]
        joint = "" if second in ("until a day", "no verdict") else "and "
        pairs = [query | other for query in some for other in seeded.sample(others, 1)]
        pairs += [seeded.choice(some) | seeded.choice(others) for _ in range(8)]
        queries[f"{first} {joint}{second}"] = pairs
    return queries


def _values(seeded: random.Random) -> dict[str, list[Wish]]:
    """Return the values of each filter, by its name."""
    from django.contrib.auth.models import Group
    from django.utils import timezone

    from chatapp.models import ReviewLabel, ReviewRule, ReviewSample, ReviewSearch, Upstream, User

    today = timezone.now().date()
    people = list(User.objects.filter(username__startswith="asker").order_by("pk"))
    persons = (people[0], *seeded.sample(people, 6), people[-1])
    days = [today - timedelta(seeded.randrange(DAYS)) for _ in range(8)]
    rules = [f"rule-{ReviewRule.objects.get(name=value).pk}" for value in RULES]
    return {
        "person": [{"person": person} for person in persons],
        "since": [{"since": day} for day in days],
        "until a day": [{"until": day} for day in days],
        "model": [{"model": value} for value in MODELS],
        "upstream": [{"upstream": Upstream.objects.get(name=value).pk} for value in UPSTREAMS],
        "tool": [{"tool": value} for value in (*TOOLS, "none such")],
        "ending": [{"ending": value} for value in ENDINGS],
        "feedback": [{"feedback": value} for value in ("up", "down", "either")],
        "cost": [{"cost": value} for value in COSTS],
        "replies": [{"replies": value} for value in REPLIES],
        "characters": [{"characters": value} for value in CHARACTERS],
        "flagged": [
            {"flagged": value} for value in ("any", "moderation", "person", "rule", *rules)
        ],
        "category": [{"category": value} for value in CATEGORIES],
        "group": [{"group": Group.objects.get(name=value).pk} for value in GROUPS],
        "search": [{"search": ReviewSearch(words=value)} for value in SEARCHES],
        "sample": [{"sample": ReviewSample.objects.get().pk}],
        "verdict": [{"verdict": value} for value in ("fine", "minor", "serious", "unclear")],
        "no verdict": [{"verdict": "none"}],
        "label": [{"label": value.pk} for value in ReviewLabel.objects.all()],
    }


def policies(every: Wishes) -> Mapping[str, tuple[Wish, Wishes]]:
    """Return policies that all conversations were begun under, each with the filters to try."""
    hidden = {"person": [wish | {"by_pseudonym": True} for wish in every["person"]]}
    of_all = ("nothing", "since", "person", "model rare", "cost 5000000000", "characters 15000")
    of_hidden = ("nothing", "since", "model rare")
    return {
        "flagged alone": ({"scope": "flagged"}, {name: every[name] for name in of_all}),
        "names hidden": (
            {"scope": "all", "hides_names": True},
            {**{name: every[name] for name in of_hidden}, **hidden, "group": every["group of all"]},
        ),
    }
