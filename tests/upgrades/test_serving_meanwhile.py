"""On PostgreSQL, the old version keeps serving while the new one migrates."""

import asyncio
import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest

from tests.support.fake_upstream import (
    FakeUpstream,
    Pause,
    answer,
    delta,
    done,
    finish,
    role,
    usage,
)
from tests.support.live import run
from tests.support.visitor import Visitor, visit
from tests.upgrades.make_data import installation
from tests.upgrades.old_version import Installation, check_out
from tests.upgrades.staff import connect, sign_up

OLD = "860b96f4"  # it needs the packages of today
WORDS = 1000  # more than are written during an upgrade
PACE_SECONDS = 0.2
AT_LEAST = 10

ENDS = """
import json, django
django.setup()
from chatapp.models import Message, Usage
replies = Message.objects.filter(role="assistant").order_by("sequence")
print(json.dumps([[one.ending, one.content, Usage.objects.get(message_id=one.pk).total_tokens]
                  for one in replies]))
"""


@pytest.fixture
def site() -> Iterator[Installation]:
    """An installation of the old version on PostgreSQL, which serves."""
    try:
        code = check_out(OLD)
    except subprocess.CalledProcessError:
        pytest.skip(f"this clone does not have the commit {OLD}")
    with installation(code, "postgresql") as site, closing(site):
        site.prepare()
        site.begin()
        yield site
        assert site.stop() == 0, site.log


async def test_a_stream_of_the_old_version_runs_on(site: Installation) -> None:
    pauses = [Pause() for _ in range(WORDS)]
    with FakeUpstream() as upstream:
        olive = sign_up(site)
        connect(olive, "Gateway", upstream.base_url, to="everybody")
        upstream.script(
            role(),
            *(step for n, pause in enumerate(pauses) for step in (delta(f"word{n}. "), pause)),
            *(finish(), usage(5, WORDS), done()),
        )
        async with visit(site, olive.person) as tab:
            await tab.send("Tell me a long story")
            await tab.until_says("word0.")
            upgrading = asyncio.create_task(asyncio.to_thread(upgrade, site))
            assert await release_until(upgrading, pauses, tab) >= AT_LEAST
            for pause in pauses:
                pause.release()
            assert await tab.until_ended() == "complete"
            upstream.script(*answer("The old process works on the new schema."))
            await tab.send("And now?")
            await tab.until_says("new schema")
            await tab.until_ended()
        olive.client.close()
    assert "Traceback" not in site.log
    story = "".join(f"word{n}. " for n in range(WORDS))
    replies = json.loads(run(site.environment, "-c", ENDS).stdout)
    assert [ending for ending, _, _ in replies] == ["complete", "complete"]
    assert replies[0][1].split() == story.split()
    assert replies[0][2] == 5 + WORDS
    run(site.environment, "manage.py", "usage", "verify")


def upgrade(site: Installation) -> None:
    run(site.environment, "manage.py", "upgrade", "--no-backup")


async def release_until(ended: "asyncio.Task[None]", pauses: Sequence[Pause], tab: Visitor) -> int:
    """Let one word after another arrive until the task has ended; return how many did."""
    for number, pause in enumerate(pauses, 1):
        await asyncio.wait([ended], timeout=PACE_SECONDS)
        if ended.done():
            await ended
            return number
        pause.release()
        await tab.until_says(f"word{number}.")
    raise AssertionError("the task lasted longer than the story")
