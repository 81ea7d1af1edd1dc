"""The layout of the usage chart."""

import pytest

from chatapp.models.billing.daily_usage import SUMS
from chatapp.staff.usage.charts import PARTS, Part, chart, outline, round_up
from chatapp.staff.usage.figures import Figures


def figures(people: int = 0, **sums: int) -> Figures:
    return Figures("", {**dict.fromkeys(SUMS, 0), **sums}, people)


DAY = figures(
    booked=10,
    replies=10,
    complete=4,
    stopped=2,
    limited=2,
    failed=2,
    prompt_tokens=300,
    completion_tokens=200,
    estimated_tokens=100,
    cost=500,
    estimated_cost=100,
    unknown=1,
    unpriced=2,
)
DRAWN = {  # the heights of its parts from the bottom up, and of the estimated part
    "cost": ([100], 20),
    "tokens": ([60, 40], 20),
    "answers": ([40, 40, 20], 0),
}


@pytest.mark.parametrize("measure", PARTS)
def test_the_parts_of_a_column_are_stacked(measure: str) -> None:
    drawn = chart([DAY, figures()], [figures()] * 2, measure)
    full, empty = drawn.columns
    heights, estimated = DRAWN[measure]
    assert [column_part.height for column_part in full.parts] == heights
    assert len(heights) == len(PARTS[measure])
    bottom = 100.0
    for part in full.parts:
        assert part.top + part.height == bottom
        bottom = part.top
    assert (full.top, full.estimated) == (0, estimated)
    assert full.is_partial == drawn.has_unknown == (measure != "answers")
    assert drawn.has_estimates == (measure != "answers")
    assert (empty.parts, empty.estimated, empty.is_partial) == ([], 0, False)
    assert full.x + full.width < empty.x < empty.x + empty.width < 100
    assert drawn.before == ""


def test_the_previous_period_is_drawn_to_the_same_scale() -> None:
    drawn = chart([figures(cost=1)] * 2, [figures(cost=5), figures(cost=2)], "cost")
    assert drawn.top == 5
    assert drawn.columns[0].parts == [Part(1, 80, 20)]
    assert drawn.before == "M0 100V0H500V60H1000V100"


def test_the_outline_of_the_previous_period_crosses_higher_columns() -> None:
    earlier = [figures(cost=value) for value in (3, 4, 5, 0)]
    drawn = chart([figures(cost=4)] * 4, earlier, "cost")
    assert [column.before for column in drawn.columns] == [40, None, None, None]


@pytest.mark.parametrize(
    ("value", "top"),
    [(0, 1), (1, 1), (1.5, 2), (3, 5), (6, 10), (10, 10), (199, 200), (201, 500), (999, 1000)],
)
def test_the_axis_ends_at_a_round_number(value: float, top: float) -> None:
    assert round_up(value) == top


def test_the_outline_has_a_gap_where_a_value_is_unknown() -> None:
    assert outline([1.0, None, 2.0], 2) == "M0 100V50H333.333V100M666.667 100V0H1000V100"
    assert outline([1.0, None], 2) == "M0 100V50H500V100"


def test_nothing_is_drawn_without_usage() -> None:
    drawn = chart([figures()], [figures()], "tokens")
    assert (drawn.columns[0].parts, drawn.before) == ([], "")
