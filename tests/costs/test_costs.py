"""No action costs more than its record, which `make costs` renews."""

import os
import sys
from collections import Counter

import pytest

from tests.costs.actions import ACTIONS, measure
from tests.costs.scene import open_scene
from tests.costs.table import Cost, CostRecord
from tests.support.live import Site

COUNTED_ON = (3, 11)  # other versions of Python make other calls


@pytest.mark.skipif(sys.version_info[:2] != COUNTED_ON, reason="counted with Python 3.11")
@pytest.mark.skipif("DATABASE_URL" in os.environ, reason="counted with SQLite")
async def test_no_action_costs_more_than_its_record(site: Site) -> None:
    recorded, excesses = CostRecord.read(), []
    with open_scene(site) as scene:
        for action in ACTIONS:
            cost = await measure(scene, action, recorded)
            excesses += list(recorded.find_excesses(action, cost))
    assert not excesses, "\n".join(excesses)


def build_cost(**calls: int) -> Cost:
    return Cost(Counter(calls), statements=10, bytes=100, messages=0)


RECORDED = CostRecord({"turn": {"calls": 100, "statements": 10, "bytes": 100, "messages": 0}}, {})


def test_three_percent_more_is_allowed() -> None:
    assert list(RECORDED.find_excesses("turn", build_cost(ask=103))) == []
    assert list(RECORDED.find_excesses("turn", build_cost(ask=104)))


def test_an_excess_names_the_functions_that_grew_most() -> None:
    recorded = CostRecord(RECORDED.figures, {"ask": {"turn": 90}, "save": {"turn": 10}})
    excesses = list(recorded.find_excesses("turn", build_cost(ask=91, save=20, look=30)))
    assert excesses[0] == "turn: 141 calls, recorded 100"
    assert excesses[1:] == ["    +30 look", "    +10 save", "    +1 ask"]


def test_each_figure_has_a_ceiling() -> None:
    greedy = Cost(Counter(ask=1), statements=11, bytes=104, messages=1)
    assert list(RECORDED.find_excesses("turn", greedy)) == [
        "turn: 11 statements, recorded 10",
        "turn: 104 bytes, recorded 100",
        "turn: 1 messages, recorded 0",
    ]


def test_an_action_without_a_record_fails() -> None:
    assert list(RECORDED.find_excesses("tea", build_cost())) == [
        "tea has no record: run make costs"
    ]


def test_statements_and_messages_are_told_by_their_functions() -> None:
    functions = Counter(
        {
            "<method 'execute' of 'sqlite3.Connection' objects>": 2,
            "<method 'executemany' of 'sqlite3.Cursor' objects>": 1,
            "chatapp/realtime/cluster/null_bus.py:NullBus.post_to_user": 3,
        }
    )
    assert Cost.of(functions, 7).figures == {
        "calls": 6,
        "statements": 3,
        "bytes": 7,
        "messages": 3,
    }


def test_the_least_of_two_costs_has_the_lower_of_each_figure() -> None:
    first, second = Cost(Counter(ask=5), 2, 9, 0), Cost(Counter(ask=4), 3, 8, 1)
    assert first.least(second).figures == {"calls": 4, "statements": 2, "bytes": 8, "messages": 0}
