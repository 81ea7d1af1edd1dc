"""`python -m bench.year TRIES`: times the usage pages over a year of two hundred people.

Two years of working days are stored as sums of the ledger, which is all that the pages read.
Requests the year as an administrator's browser does, by each of its columns. Prints JSON: for each,
its times in milliseconds of CPU, and of the clock.
"""

import gc
import json
import random
import sys
import time
from collections.abc import Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING

import django
from django.utils import timezone

if TYPE_CHECKING:
    from chatapp.models import DailyUsage

PEOPLE, DAYS, WORKING = 200, 730, 5
GROUPS, MODELS_EACH, MODELS_A_DAY = 12, 3, 2
MODELS = [f"model-{number}" for number in range(12)]
UPSTREAMS = ("East", "West", "Local")
BY = ("day", "model", "upstream", "group", "person")
AT_ONCE = 500  # rows per statement, each with two dozen columns


def fill() -> None:
    from django.contrib.auth.models import Group
    from django.db import connection, transaction

    from chatapp.models import DailyUsage, User
    from chatapp.models.billing.daily_usage import KEY, SUMS

    people = User.objects.bulk_create(User(username=f"asker{index}") for index in range(PEOPLE))
    groups = Group.objects.bulk_create(Group(name=f"group {index}") for index in range(GROUPS))
    for number, group in enumerate(groups):
        group.user_set.set(people[number::GROUPS])
    with transaction.atomic(), connection.cursor() as cursor:
        DailyUsage.objects.bulk_create(_rows([person.pk for person in people]), batch_size=AT_ONCE)
        is_sqlite = connection.vendor == "sqlite"
        month = "date(day, 'start of month')" if is_sqlite else "date_trunc('month', day)::date"
        sums = ", ".join(f"sum({name})" for name in SUMS)
        cursor.execute(
            f"INSERT INTO chatapp_monthlyusage ({', '.join((*KEY, *SUMS))}) "  # noqa: S608 - our own
            f"SELECT {month}, {', '.join(KEY[1:])}, {sums} FROM chatapp_dailyusage"
            " GROUP BY 1, 2, 3, 4"
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _rows(people: list[int]) -> Iterator["DailyUsage"]:
    from chatapp.models import DailyUsage
    from chatapp.models.billing.daily_usage import SUMS
    from chatapp.models.platform.calendar import get_day

    seeded, today = random.Random(11), get_day(timezone.now())
    habits = {person: seeded.sample(MODELS, MODELS_EACH) for person in people}
    for day in _working_days(today):
        for person in people:
            for model in seeded.sample(habits[person], MODELS_A_DAY):
                sums = {name: seeded.randrange(1, 5000) for name in SUMS}
                upstream = UPSTREAMS[len(model) % len(UPSTREAMS)]
                yield DailyUsage(
                    day=day, person=person, upstream_name=upstream, model=model, **sums
                )


def _working_days(today: date) -> list[date]:
    every = (today - timedelta(days=number) for number in range(DAYS))
    return [day for day in every if day.weekday() < WORKING]


def ask(tries: int) -> dict[str, list[tuple[float, float]]]:
    from django.test import Client

    from chatapp.models import User

    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.get(username="olive"))
    times: dict[str, list[tuple[float, float]]] = {by: [] for by in BY}
    for by in BY * tries:
        gc.collect()
        began_at, cpu = time.perf_counter(), time.process_time()
        answer = client.get("/usage/", {"period": "year", "by": by})
        taken = time.process_time() - cpu, time.perf_counter() - began_at
        assert answer.status_code == 200, answer.status_code
        times[by].append((taken[0] * 1000, taken[1] * 1000))
    return {by: taken[1:] for by, taken in times.items()}  # the first compiles its templates


if __name__ == "__main__":
    django.setup()
    fill()
    print(json.dumps(ask(int(sys.argv[1]) + 1)))
