"""The usage that two servers record over all endings, against what the upstream counted."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle

import pytest

from chatapp.models import Usage
from chatapp.upstream.wire.reply import Ending
from tests.deployment.services import Redis
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Person, Server, Site
from tests.support.viewer import Viewer
from tests.test_books import LAST, PROMPT, SAID, Case, check

# These come last: a process is killed, and the upstream's silence is cut short.
LAST_OF_ALL = (Ending.INTERRUPTED, Ending.TIMED_OUT)
ENDINGS = [*[ending for ending in SAID if ending not in LAST_OF_ALL], *LAST_OF_ALL]
# Elsewhere each is tried with and without a usage report in one process; here every other has one.
CASES = [(ending, bool(number % 2)) for number, ending in enumerate(ENDINGS)]
CASES.insert(-1, (Ending.INTERRUPTED, not dict(CASES)[Ending.INTERRUPTED]))
SMALL = """
from chatapp.models import Limit, User
person = User.objects.get(username={name!r})
Limit.objects.create(measure="tokens", cap=4000, period="ever", user=person)
"""
IMPATIENT = """
from chatapp.models import Upstream
Upstream.objects.update(silence_seconds=1)
"""
BOOKED = """
import json
from django.db.models import Sum
from chatapp.models import DailyUsage, Usage, User
rows = Usage.objects.filter(message__conversation__user__username__in={names!r})
people = User.objects.filter(username__in={names!r}).values("pk")
tokens = Sum("prompt_tokens") + Sum("completion_tokens")
daily = DailyUsage.objects.filter(person__in=people).aggregate(sum=tokens)
print(json.dumps([[[str(one.message_id), one.as_record()] for one in rows], daily["sum"]]))
"""


@pytest.fixture
def two_servers(
    team: Site, redis: Redis, team_upstream: FakeUpstream
) -> Iterator[tuple[Server, Server]]:
    shared = team.copy() | {
        "REDIS_URL": redis.url,
        "OPENAI_BASE_URL": team_upstream.base_url,
        "CHATAPP_CLOSE_GRACE": "0",
        "CHATAPP_DROP_GRACE": "0",
    }
    with ExitStack() as started:
        first = started.enter_context(Server(shared))
        yield first, started.enter_context(Server(shared))


async def test_usage_recorded_by_two_servers_adds_up_to_what_the_upstream_counted(
    two_servers: tuple[Server, Server], team_upstream: FakeUpstream, team: Site
) -> None:
    truths: dict[str, tuple[Case, int, int]] = {}
    people = []
    servers = cycle([two_servers, two_servers[::-1]])
    for ending, is_reported in CASES:
        case = Case(ending, is_reported, rounds=1, choices=1, try_before="")
        people.append(team.person())
        before = len(team_upstream.chat_requests)
        reply = await end_reply(case, people[-1], next(servers), team_upstream)
        truths[reply] = case, *case.truth(team_upstream.chat_requests[before:][:1])
    names = [person.username for person in people]
    records, daily = json.loads(two_servers[0].run(BOOKED.format(names=names)))
    assert sorted(reply for reply, _ in records) == sorted(truths)  # each exactly once
    books: Counter[str] = Counter()
    for reply, record in records:
        case, prompt, completion = truths[reply]
        check(case, Usage(**record), prompt, completion)
        books[f"{record['provenance']}: the upstream's"] += prompt + completion
        books[f"{record['provenance']}: ours"] += record["total_tokens"]
    print(dict(books))
    assert books["reported: ours"] == books["reported: the upstream's"]
    assert daily == books["reported: ours"] + books["estimated: ours"]


async def end_reply(
    case: Case, person: Person, servers: tuple[Server, Server], upstream: FakeUpstream
) -> str:
    """Send a prompt at the first server and end the reply as the case says; return its id."""
    owner, other = servers
    if case.ending is Ending.OVER_BUDGET:
        owner.run(SMALL.format(name=person.username))
    if case.ending is Ending.TIMED_OUT:
        owner.run(IMPATIENT)
    case.script(upstream)
    async with Viewer.open_tab(owner, person) as viewer:
        reply = await viewer.ask(PROMPT)
        if case.ending not in (Ending.STOPPED, Ending.ABANDONED, Ending.INTERRUPTED):
            assert await viewer.until_ended() == case.ending, case
            return reply
        await viewer.until_says(LAST)
        async with Viewer.open_tab(other, person, viewer.path) as elsewhere:
            await elsewhere.until_says(LAST)
            if case.ending is Ending.STOPPED:
                await elsewhere.send("", action="stop")
                assert await elsewhere.until_ended() == case.ending
                return reply
            if case.ending is Ending.INTERRUPTED:
                owner.kill()
                assert await elsewhere.until_ended() == case.ending
                owner.start()
                return reply
            await viewer.close()
            await elsewhere.close()
            await upstream.chat_requests[-1].until_closed()
    async with Viewer.open_tab(other, person, viewer.path) as later:
        assert await later.until_ended() == case.ending
    return reply
