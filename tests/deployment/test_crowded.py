"""A channel layer that drops messages beyond its capacity."""

import pytest

from tests.deployment.conftest import PATIENCE
from tests.deployment.replies import WORDS, half_a_reply, until_complete
from tests.deployment.services import Redis
from tests.deployment.stack import Stack
from tests.support.fake_upstream import FakeUpstream, Pause, delay_frames, delta, done, finish
from tests.support.live import Person, Site

pytestmark = pytest.mark.thorough


async def test_a_channel_layer_of_capacity_1_costs_no_character(
    team: Site,
    redis: Redis,
    team_upstream: FakeUpstream,
    alice: Person,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("tiny")
    tiny = {**PATIENCE, "DJANGO_SETTINGS_MODULE": "tests.deployment.tiny_layer"}
    with Stack(team, redis, team_upstream, folder, servers=3, environment=tiny) as stack:
        pause = Pause()
        steps = (pause, *delay_frames(map(delta, WORDS[20:]), 0.01), finish(), done())
        async with half_a_reply(stack, team_upstream, alice, *steps) as (viewers, _):
            pause.release()
            await until_complete(*viewers)
