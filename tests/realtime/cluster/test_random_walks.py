"""Random sequences of workers, tabs and losses: in the end every tab shows the right text."""

import random
from collections.abc import Callable
from uuid import uuid4

import pytest
from pytest_django import Settings

from chatapp.realtime.cluster.followers import LEASE_SECONDS
from tests.realtime.cluster.house import House, Member, Reader, Reply
from tests.support.profile import choose_size

STEPS = 80


class Walk:
    """One conversation with replies one after another, in any worker."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - reproducible
        self.house = House(workers=3)
        self.conversation = uuid4()
        self.readers: list[tuple[Member, Reader]] = []
        self.replies: list[Reply] = []
        self.number = 0
        # The possible steps and their weights.
        self.moves: dict[Callable[[], object], int] = {
            self.begin: 3,
            self.write: 10,
            self.end: 1,
            self.open: 3,
            self.close: 1,
            self.deliver: 12,
            self.reorder: 2,
            self.repeat: 2,
            self.lose: 3,
            self.pass_a_second: 2,
            self.kill: 0 if self.random.random() < 0.7 else 1,
            self.stand_still: 1,
            self.wake: 2,
        }

    async def go(self) -> None:
        moves, weights = list(self.moves), list(self.moves.values())
        for move in self.random.choices(moves, weights, k=STEPS):
            done = move()
            if hasattr(done, "__await__"):
                await done
            self.check_that_every_tab_shows_a_prefix_of_a_reply()

    @property
    def running(self) -> tuple[Reply, Member] | None:
        """The streaming reply with its owner."""
        for reply, owner in self.house.database.streaming.values():
            for member in self.house.members:
                if member.bus.worker == owner:
                    return reply, member
        return None

    def anyone(self) -> Member:
        return self.random.choice(self.house.members)

    def begin(self) -> None:
        if not self.running:
            self.replies.append(self.anyone().begin(self.conversation))

    async def write(self) -> None:
        if self.running:
            reply, owner = self.running
            self.number += 1
            await owner.write(reply, f"{self.number} ")

    async def end(self) -> None:
        if self.running:
            await self.query_everywhere()
            reply, owner = self.running
            owner.end(reply)

    async def query_everywhere(self) -> None:
        """Let every worker query the database.

        A reply that no query saw streaming and no message announced only appears with the next
        turn.
        """
        for member in self.house.members:
            self.house.wake(member)
            await member.beat()

    async def open(self) -> None:
        if len(self.readers) < 5:
            member = self.anyone()
            self.readers.append((member, await member.open(self.conversation)))

    def close(self) -> None:
        if self.readers:
            member, reader = self.readers.pop(0)
            member.close(reader)

    async def deliver(self) -> None:
        await self.house.deliver(self.random.randint(1, 3))

    def reorder(self) -> None:
        self.house.network.on_their_way.rotate(self.random.randint(1, 3))

    def repeat(self) -> None:
        if waiting := self.house.network.on_their_way:
            waiting.append(waiting[0])

    def lose(self) -> None:
        if waiting := self.house.network.on_their_way:
            waiting.popleft()

    async def pass_a_second(self) -> None:
        await self.house.pass_seconds(1)

    async def kill(self) -> None:
        if len(self.house.members) > 1:
            await self.query_everywhere()
            killed = self.anyone()
            self.house.kill(killed)
            self.readers = [(member, reader) for member, reader in self.readers if member != killed]

    def stand_still(self) -> None:
        self.house.stop(self.anyone())

    def wake(self) -> None:
        self.house.wake(self.anyone())

    def check_that_every_tab_shows_a_prefix_of_a_reply(self) -> None:
        for _, reader in self.readers:
            for reply in self.replies:
                assert reply.pk != reader.reply or reply.text.startswith(reader.text)

    async def check_that_every_tab_is_right_in_the_end(self) -> None:
        for member in self.house.members:
            self.house.wake(member)
        await self.house.pass_seconds(5)
        saved = self.house.database.saved.get(self.conversation)
        newest = self.running[0] if self.running else saved
        for _, reader in self.readers:
            assert (reader.reply, reader.text) == (
                newest and newest.pk,
                newest.text if newest else "",
            )

    async def check_that_no_lease_is_left(self) -> None:
        """Check it even though every `Leave` message is lost."""
        if not self.running:
            return
        reply, owner = self.running
        audience = owner.audiences[reply.pk]
        last = Reader(owner, self.conversation)
        audience.join(last)  # so that it is not abandoned before the check
        while self.readers:
            self.close()
        self.house.network.lose()
        await self.house.pass_seconds(int(LEASE_SECONDS) + 2)
        assert not audience.is_watching
        audience.leave(last, 0.0)
        assert audience.is_gone.is_set()


@pytest.mark.parametrize("seed", [*range(choose_size(18, 198)), 653, 2007])
async def test_after_any_random_walk_every_tab_is_right_and_no_lease_is_left(
    seed: int, settings: Settings
) -> None:
    settings.CHATAPP_CLOSE_GRACE = settings.CHATAPP_DROP_GRACE = 0.0
    walk = Walk(seed)
    await walk.go()
    await walk.check_that_every_tab_is_right_in_the_end()
    await walk.check_that_no_lease_is_left()
