"""The layout of the usage chart."""

import pytest

from chatapp.models.billing.daily_usage import SUMS
from chatapp.staff.usage.charts import PARTS, Part, chart, outline
from chatapp.staff.usage.figures import Figures


def figures(people: int = 0, **sums: int) -> Figures:
    return Figures("", {**dict.fromkeys(SUMS, 0), **sums}, people)


DAY = figures(
    people=2,
    booked=4,
    replies=4,
    complete=1,
    stopped=1,
    limited=1,
    failed=1,
    prompt_tokens=300,
    cached_tokens=100,
    completion_tokens=100,
    reasoning_tokens=60,
    estimated_tokens=100,
    cost=400,
    estimated_cost=100,
    unknown=1,
    unpriced=2,
    timed=2,
    first_token_ms=3000,
    written_tokens=90,
    written_ms=2000,
)
DRAWN = {  # the heights of its parts from the bottom up, the estimated and the unknown share
    "tokens": ([50, 25, 10, 15], 25, 25),
    "cost": ([100], 25, 50),
    "replies": ([25, 25, 25, 25], 0, 0),
    "people": ([100], 0, 0),
    "first_token": ([100], 0, 0),
    "speed": ([100], 0, 0),
}


@pytest.mark.parametrize("measure", PARTS)
def test_the_parts_of_a_column_are_stacked(measure: str) -> None:
    drawn = chart([DAY, figures()], [figures()] * 2, measure)
    full, empty = drawn.columns
    heights, estimated, unknown = DRAWN[measure]
    assert [one.height for one in full.parts] == heights
    assert len(heights) <= len(PARTS[measure])
    bottom = 100.0
    for part in full.parts:
        assert part.top + part.height == bottom
        bottom = part.top
    assert (full.top, full.estimated, full.unknown) == (0, estimated, unknown)
    assert (empty.parts, empty.estimated, empty.unknown) == ([], 0, 0)
    assert full.x + full.width < empty.x < empty.x + empty.width < 100
    assert drawn.before == ""


def test_the_previous_period_is_drawn_to_the_same_scale() -> None:
    drawn = chart([figures(cost=1)] * 2, [figures(cost=4), figures(cost=2)], "cost")
    assert drawn.highest == 4
    assert drawn.columns[0].parts == [Part(1, 75, 25)]
    assert drawn.before == "M0 100V0H500V50H1000V100"


def test_the_outline_of_the_previous_period_crosses_higher_columns() -> None:
    earlier = [figures(cost=value) for value in (3, 4, 5, 0)]
    drawn = chart([figures(cost=4)] * 4, earlier, "cost")
    assert [column.before for column in drawn.columns] == [40, None, None, None]


def test_the_outline_has_a_gap_where_a_value_is_unknown() -> None:
    assert outline([1.0, None, 2.0], 2) == "M0 100V50H333.333V100M666.667 100V0H1000V100"
    assert outline([1.0, None], 2) == "M0 100V50H500V100"


def test_no_part_is_negative_whatever_an_upstream_reports() -> None:
    odd = figures(prompt_tokens=10, cached_tokens=50, completion_tokens=10, reasoning_tokens=50)
    assert [
        (part.shade, part.height) for part in chart([odd], [figures()], "tokens").columns[0].parts
    ] == [
        (2, 50),
        (4, 50),
    ]


def test_nothing_is_drawn_without_usage() -> None:
    drawn = chart([figures()], [figures()], "tokens")
    assert (drawn.columns[0].parts, drawn.before) == ([], "")
