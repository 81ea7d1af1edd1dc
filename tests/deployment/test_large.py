"""Replies larger than the former limit of a message, written by one server and read on another."""

import pytest

from tests.deployment.replies import half_a_reply
from tests.deployment.stack import Stack
from tests.support.fake_upstream import FakeUpstream, Pause, Step, delta, done, finish
from tests.support.live import Person

pytestmark = pytest.mark.thorough

# 1.1 MB, but fewer characters than a page shows of one text
PARAGRAPHS = ["wörd " * 20_000 + f"end{number}.\n\n" for number in range(9)]


async def test_a_reply_over_a_mebibyte_reaches_every_server_whole(
    stack: Stack, team_upstream: FakeUpstream, alice: Person
) -> None:
    pause = Pause()
    paragraphs = map(delta, ["\n\n", *PARAGRAPHS])
    steps: list[Step] = [*paragraphs, pause, finish(), done()]
    async with half_a_reply(stack, team_upstream, alice, *steps) as (viewers, _):
        for viewer in viewers:
            await viewer.until_says("end8.")
        viewers[1].reconnect_quickly()
        await viewers[1].lose_connection()  # a snapshot follows with all of it
        await viewers[1].until_back(1)
        pause.release()
        for viewer in viewers:
            assert await viewer.until_ended() == "complete"
            assert viewer.page.region("answer").count("wörd ") == 20_000 * len(PARAGRAPHS)
            assert all(f"end{number}." in viewer.text for number in range(len(PARAGRAPHS)))
