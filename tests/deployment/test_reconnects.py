"""A few dozen forced reconnects; `python -m bench cluster.reconnects` does hundreds."""

import pytest

from tests.deployment.reconnects import reconnect_at_random
from tests.deployment.stack import Stack
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Site

pytestmark = pytest.mark.thorough


async def test_repeated_disconnects_lose_and_repeat_nothing(
    stack: Stack, team: Site, team_upstream: FakeUpstream
) -> None:
    people = [team.person() for _ in range(3)]
    tally = await reconnect_at_random(stack, team_upstream, people, times=12, seed=1)
    assert (tally.lost, tally.repeated, tally.went_back) == (0, 0, 0)
    assert tally.reconnects >= 36
