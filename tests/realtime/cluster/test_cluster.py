"""Two and three workers over a bus that loses, repeats and reorders their messages."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from pytest_django import Settings

from chatapp.realtime.cluster import SnapshotRequested, StaleViewers
from chatapp.realtime.cluster.bus import BusRecovered, MessageReceived
from chatapp.realtime.cluster.followers import LEASE_SECONDS
from chatapp.realtime.cluster.messages import (
    Decide,
    Echo,
    Ended,
    Frame,
    Gone,
    Leave,
    Message,
    PeopleChanged,
    Renew,
    Snapshot,
    Stop,
    ThreadChanged,
    TurnBegan,
    Watch,
)
from chatapp.upstream.wire.reply import Ending
from tests.realtime.cluster.house import ALICE, House, Member, Reader, Reply

SKY = uuid4()
LONG = int(LEASE_SECONDS) + 2


@pytest.fixture
def house() -> House:
    return House(2)


async def start_watched_reply(house: House) -> tuple[Reply, Reader]:
    """Start a reply in the first worker and open a tab that watches it in the second."""
    first, second = house.members[:2]
    reply = first.begin(SKY)
    reader = await second.open(SKY)
    await house.deliver()
    return reply, reader


def is_abandoned(house: House, reply: Reply) -> bool:
    audiences = [
        house_member.audiences[reply.pk]
        for house_member in house.members
        if reply.pk in house_member.audiences
    ]
    return all(audience.is_gone.is_set() for audience in audiences)


# Watching


async def test_a_tab_in_another_worker_gets_the_text_so_far_and_what_follows(house: House) -> None:
    first, second = house.members
    reply = first.begin(SKY)
    await first.write(reply, "One ")
    reader = await second.open(SKY)
    await house.deliver()
    await first.write(reply, "two")
    await house.deliver()
    assert reader.text == "One two"
    assert len(reader.frames) == 2


async def test_a_turn_in_another_worker_appears_in_tabs_of_its_conversation(house: House) -> None:
    first, second = house.members
    reader = await second.open(SKY)
    elsewhere = await second.open(uuid4())
    reply = first.begin(SKY)
    await house.deliver()
    await first.write(reply, "One")
    await house.deliver()
    assert (reader.text, elsewhere.caught_up) == ("One", [])


async def test_a_turn_whose_message_was_lost_is_found_in_the_database(house: House) -> None:
    first, second = house.members
    reader = await second.open(SKY)
    reply = first.begin(SKY)
    house.network.lose(TurnBegan)
    await first.write(reply, "One")
    await house.pass_seconds(1)
    assert reader.text == "One"
    caught_up = len(reader.caught_up)
    await house.pass_seconds(3)
    assert len(reader.caught_up) == caught_up  # it already shows the right text


async def test_a_lost_snapshot_request_is_repeated(house: House) -> None:
    first, second = house.members
    reply = first.begin(SKY)
    reader = await second.open(SKY)
    house.network.lose(Watch)
    await first.write(reply, "One")
    await house.pass_seconds(1)
    assert reader.text == "One"


@pytest.mark.parametrize("kind", [Frame, Snapshot])
async def test_lost_frames_are_made_up_for_within_two_seconds(
    house: House, kind: type[Frame | Snapshot]
) -> None:
    first = house.members[0]
    reply, reader = await start_watched_reply(house)
    await first.write(reply, "One ")
    await reader.catch_up(SKY)
    await house.deliver(1)
    house.network.lose(kind)
    await first.write(reply, "two")
    house.network.lose(kind)
    await house.pass_seconds(2)
    assert reader.text == "One two"


async def test_the_end_is_shown_even_if_its_message_is_lost(house: House) -> None:
    first = house.members[0]
    reply, reader = await start_watched_reply(house)
    await first.write(reply, "All of it")
    first.end(reply)
    house.network.lose()
    await house.pass_seconds(2)
    assert reader.text == "All of it"
    assert second_remotes(house) == set()


async def test_a_tab_with_the_whole_reply_is_not_redrawn_at_its_end(house: House) -> None:
    first = house.members[0]
    reply, reader = await start_watched_reply(house)
    await first.write(reply, "All")
    first.end(reply)
    await house.deliver()
    await house.pass_seconds(3)
    assert (reader.text, reader.caught_up) == ("All", [])


async def test_a_tab_opened_just_after_the_end_shows_the_reply(house: House) -> None:
    first, second = house.members
    reply = first.begin(SKY)
    await first.write(reply, "All")
    reader = await second.open(SKY)
    first.end(reply)
    await house.deliver(1)
    assert house.network.kinds() == ["Gone"]
    await house.pass_seconds(2)
    assert reader.text == "All"


def second_remotes(house: House) -> set[object]:
    return set(house.members[1].cluster.remotes.conversations())


# Leaving


async def test_closing_the_last_tab_in_another_worker_ends_the_reply(house: House) -> None:
    reply, reader = await start_watched_reply(house)
    house.members[1].close(reader)
    await house.deliver()
    assert is_abandoned(house, reply)


@pytest.mark.parametrize("of_three", [False, True])
async def test_the_reply_goes_on_while_another_tab_watches_it(of_three: bool) -> None:
    house = House(3)
    reply, reader = await start_watched_reply(house)
    await house.members[2 if of_three else 0].open(SKY)
    await house.deliver()
    house.members[1].close(reader)
    await house.pass_seconds(LONG)
    assert not is_abandoned(house, reply)


async def test_a_lost_leave_message_is_made_up_for_by_the_next_renewals(
    house: House, settings: Settings
) -> None:
    settings.CHATAPP_CLOSE_GRACE = 0.0
    first, second = house.members
    reply, reader = await start_watched_reply(house)
    other = first.begin(uuid4())  # so that renewals go on
    await second.open(other.conversation)
    await house.deliver()
    second.close(reader)
    house.network.lose(Leave)
    await house.pass_seconds(1)
    assert not is_abandoned(house, reply)
    await house.pass_seconds(2)
    assert is_abandoned(house, reply)
    assert not is_abandoned(house, other)


async def test_a_lease_that_is_not_renewed_expires(house: House, settings: Settings) -> None:
    settings.CHATAPP_DROP_GRACE = 0.0
    reply, _ = await start_watched_reply(house)
    house.stop(house.members[1])  # its heartbeat goes on in its own thread
    await house.pass_seconds(int(LEASE_SECONDS))
    assert not is_abandoned(house, reply)
    await house.pass_seconds(1)
    assert is_abandoned(house, reply)


async def test_leases_do_not_expire_during_a_bus_outage_and_for_a_while_after(
    house: House, settings: Settings
) -> None:
    settings.CHATAPP_DROP_GRACE = 0.0
    first, second = house.members
    reply, _ = await start_watched_reply(house)
    first.bus.answers = False
    house.stop(second)
    await house.pass_seconds(3 * LONG)
    assert not is_abandoned(house, reply)
    first.bus.answers, first.bus.answers_since = True, house.network.clock
    await house.pass_seconds(int(LEASE_SECONDS) - 1)
    house.wake(second)
    await house.pass_seconds(LONG)
    assert not is_abandoned(house, reply)


async def test_a_dead_worker_holds_no_leases(house: House, settings: Settings) -> None:
    settings.CHATAPP_DROP_GRACE = 0.0
    reply, _ = await start_watched_reply(house)
    house.kill(house.members[1])
    await house.pass_seconds(1)
    assert is_abandoned(house, reply)


# An unreachable owner


async def test_a_silent_owner_is_reported_until_it_is_back(house: House) -> None:
    first = house.members[0]
    reply, reader = await start_watched_reply(house)
    await first.write(reply, "One ")
    await house.deliver()
    house.stop(first)
    await house.pass_seconds(4)
    assert reader.shows_silence
    house.wake(first)
    await first.write(reply, "two")
    await house.pass_seconds(2)
    assert (reader.text, reader.shows_silence) == ("One two", False)


async def test_a_dead_owners_partial_reply_is_shown(house: House) -> None:
    first = house.members[0]
    reply, reader = await start_watched_reply(house)
    await first.write(reply, "Half of it")
    house.network.lose()
    house.kill(first)
    await house.pass_seconds(2)
    assert reader.text == "Half of it"


async def test_an_owner_that_comes_back_is_followed_again(house: House, settings: Settings) -> None:
    """It was stalled for so long that on waking it considered the other's lease expired."""
    settings.CHATAPP_DROP_GRACE = 60.0
    first = house.members[0]
    reply, reader = await start_watched_reply(house)
    house.stop(first)
    await house.pass_seconds(LONG)
    first.cluster.followers.end_leases()
    house.wake(first)
    await first.write(reply, "All of it")
    await house.pass_seconds(2)
    assert reader.text == "All of it"
    assert not is_abandoned(house, reply)


async def test_a_worker_that_comes_back_catches_up(house: House) -> None:
    first, second = house.members
    reply, reader = await start_watched_reply(house)
    house.stop(second)
    for word in ("One ", "two ", "three"):
        await first.write(reply, word)
        await house.pass_seconds(1)
    house.network.lose()
    house.wake(second)
    await house.pass_seconds(2)
    assert reader.text == "One two three"


# Commands and broadcasts


async def test_a_stop_reaches_the_owner_and_takes_effect_once(house: House) -> None:
    _, reader = await start_watched_reply(house)
    [remote] = house.members[1].cluster.remotes.for_viewer(reader, SKY)
    remote.stop(Ending.STOPPED)
    house.network.lose(Stop)
    await house.pass_seconds(1)
    assert SKY in house.database.saved
    await house.pass_seconds(2)
    assert second_remotes(house) == set()


async def test_a_decision_reaches_the_owner(house: House) -> None:
    reply, reader = await start_watched_reply(house)
    [remote] = house.members[1].cluster.remotes.for_viewer(reader, SKY)
    remote.decide(0, 0, True)
    assert house.network.kinds() == [Decide.__name__]
    await house.deliver()
    assert reply.decisions == [True]


async def test_only_a_viewer_that_watches_the_reply_can_command_it(house: House) -> None:
    _, reader = await start_watched_reply(house)
    remotes = house.members[1].cluster.remotes
    assert remotes.for_viewer(Reader(house.members[1], SKY), SKY) == []
    assert remotes.for_viewer(reader, uuid4()) == []


async def test_every_other_worker_checks_changed_people() -> None:
    house = House(3)
    house.members[0].bus.post_to_all(PeopleChanged(frozenset({ALICE})))
    await house.deliver()
    assert [member.looked_at for member in house.members] == [
        [],
        [frozenset({ALICE})],
        [frozenset({ALICE})],
    ]


# Events for the worker


@pytest.fixture
def member(house: House) -> Member:
    return house.members[1]


async def test_messages_become_events_except_the_workers_own(house: House, member: Member) -> None:
    first = house.members[0]
    reader = await member.open(SKY)
    changed = PeopleChanged(frozenset({ALICE}))
    stop = Stop(uuid4(), SKY, Ending.STOPPED)
    for bus in (first.bus, member.bus):
        bus.post_to_all(changed)
    first.bus.post(member.bus.worker, stop)
    first.bus.post(member.bus.worker, Watch(stop.reply, SKY))
    first.bus.post(member.bus.worker, TurnBegan(SKY))
    first.bus.post(member.bus.worker, ThreadChanged(SKY))
    events = [event async for event in member.cluster.events()]
    assert events == [
        changed,
        stop,
        SnapshotRequested(first.bus.worker, stop.reply, SKY),
        StaleViewers(SKY, frozenset({reader})),
        StaleViewers(SKY, frozenset({reader}), redraw=True),
    ]


async def test_everybody_is_checked_after_a_bus_outage(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def back() -> AsyncIterator[BusRecovered]:
        yield BusRecovered()

    monkeypatch.setattr(member.bus, "receive_messages", back)
    assert [event async for event in member.cluster.events()] == [PeopleChanged(None)]


async def test_a_message_that_fails_does_not_block_the_next(
    member: Member, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def receive_messages() -> AsyncIterator[MessageReceived]:
        yield MessageReceived(uuid4(), None)  # type: ignore[arg-type]
        yield MessageReceived(uuid4(), PeopleChanged(None))

    monkeypatch.setattr(member.bus, "receive_messages", receive_messages)
    assert [event async for event in member.cluster.events()] == [PeopleChanged(None)]
    assert "Could not handle a message" in caplog.text


@pytest.mark.parametrize(
    "message",
    [
        Leave(SKY, 0.0),
        Renew(frozenset({SKY})),
        Frame(SKY, 1, ""),
        Snapshot(SKY, 1, ""),
        Ended(SKY, 1),
        Gone(SKY),
        TurnBegan(SKY),
        ThreadChanged(SKY),
        Echo(),
    ],
)
async def test_messages_about_unknown_replies_are_ignored(member: Member, message: Message) -> None:
    assert await member.cluster.apply_message(uuid4(), message) == []


async def test_the_cluster_runs_until_cancelled(member: Member) -> None:
    running = asyncio.create_task(member.cluster.run())
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
