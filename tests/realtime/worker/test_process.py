"""A worker's viewers connect, move and leave, and the worker shuts down in order."""

import asyncio
from uuid import uuid4

from prometheus_client import REGISTRY

from chatapp.close_codes import CloseCode
from chatapp.realtime.cluster.messages import PeopleChanged, TurnBegan
from tests.realtime.viewers.doubles import Recorder
from tests.realtime.worker.conftest import Company, load_ending
from tests.support.fake_upstream import FakeUpstream, Stall, delta, role


def viewers_counted() -> float:
    return REGISTRY.get_sample_value("chatapp_viewers") or 0.0


async def test_a_viewer_is_counted_and_subscribed_until_it_leaves(company: Company) -> None:
    worker, before = company.workers[0], viewers_counted()
    viewer, began = Recorder(), TurnBegan(uuid4())
    await worker.welcome(viewer)
    assert viewers_counted() == before + 1
    company.workers[1].cluster.bus.post_to_user(viewer.user_id, began)
    assert [posted.to for posted in company.network.on_their_way] == [worker.id]
    company.network.lose()
    for _ in range(2):  # the socket's end may be reported more than once
        worker.leave(viewer, 0.0)
    assert viewers_counted() == before
    company.workers[1].cluster.bus.post_to_user(viewer.user_id, began)
    assert not company.network.on_their_way


async def test_a_turn_is_announced_to_other_workers_and_ends_with_its_last_viewer(
    company: Company, upstream: FakeUpstream
) -> None:
    upstream.script(role(), delta("One "), Stall())
    first, second = company.workers
    await second.welcome(Recorder(company.alice.pk))
    reply, asker = await company.begin(first)
    messages_sent = [
        posted.message for posted in company.network.on_their_way if posted.to == second.id
    ]
    assert messages_sent == [TurnBegan(reply.conversation_id)]
    later = Recorder(company.alice.pk)
    await first.welcome(later)
    first.show(later, reply.conversation_id)
    first.show(later, None)  # it still counts as watching the reply
    first.leave(asker, 0.0)
    assert await load_ending(reply) == "streaming"
    first.leave(later, 0.0)
    await first.until_saved()
    assert await load_ending(reply) == "abandoned"


async def test_a_worker_presumed_dead_announces_what_it_saved(
    company: Company, upstream: FakeUpstream
) -> None:
    worker = company.workers[0]
    company.hearts[0].was_dead = True
    reply, _ = await company.begin(worker)
    company.network.lose()
    await worker.until_saved()
    messages_sent = [posted.message for posted in company.network.on_their_way]
    assert messages_sent == [TurnBegan(reply.conversation_id)]


async def test_look_again_at_may_be_called_from_any_thread(company: Company) -> None:
    worker = company.workers[0]
    worker.recheck_access([1])  # no viewers yet, so there is nobody to check
    await worker.welcome(Recorder())
    await asyncio.to_thread(worker.recheck_access, [1, 2])
    await asyncio.sleep(0)
    messages_sent = [
        posted.message for posted in company.network.on_their_way if posted.to != worker.id
    ]
    assert messages_sent == [PeopleChanged(frozenset({1, 2}))]
    assert worker.revocation.requested == 1


async def test_a_viewer_that_connects_during_a_drain_is_sent_away(company: Company) -> None:
    worker, viewer = company.workers[0], Recorder()
    worker.draining.has_begun = True
    await worker.welcome(viewer)
    await asyncio.sleep(0)
    assert viewer.closed == CloseCode.RESTARTING


async def test_draining_ends_every_task_the_worker_started(
    company: Company, upstream: FakeUpstream
) -> None:
    worker, before = company.workers[0], asyncio.all_tasks()
    upstream.script(role(), delta("Half"), Stall())
    worker.begin()
    reply, asker = await company.begin(worker)
    await upstream.until_requested()
    await worker.drain(0)
    assert await load_ending(reply) == "interrupted"
    assert asker.closed == CloseCode.RESTARTING
    assert company.hearts[0].is_stopped
    assert asyncio.all_tasks() - before == set()
