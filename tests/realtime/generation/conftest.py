"""A reply ready to run, with what it needs from its process."""

import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async

from chatapp.models import ModelChoice, Prompt, ToolServer, Turn, Upstream, User
from chatapp.models.conversations.threads.branch_history import BranchHistory
from chatapp.realtime.generation import FlushRate, Generation
from chatapp.realtime.journal import Segment
from chatapp.realtime.viewers import Showing
from chatapp.tools import registry
from chatapp.upstream.client import UpstreamClient
from chatapp.upstream.wire.requests.history import EMPTY_HISTORY, History
from tests.realtime.viewers.doubles import Recorder
from tests.support.tab import WAIT_SECONDS


@dataclass
class Desk:
    """Creates generations without a worker."""

    alice: User
    upstream: Upstream
    client: UpstreamClient
    showing: Showing = field(default_factory=Showing)

    async def ask(self) -> Turn:
        prompt = Prompt("Why?", ModelChoice(self.upstream.pk, "m"))
        turn: Turn = await database_sync_to_async(prompt.store)(self.alice, uuid4())
        return turn

    async def generation(self, before: History = EMPTY_HISTORY) -> tuple[Generation, Recorder]:
        """Return a generation that is ready to run and a viewer that watches it.

        `before` precedes its prompt.
        """
        viewer = Recorder(self.alice.pk)
        self.showing.add(viewer)
        turn = replace(await self.ask(), before=BranchHistory(plain=before))
        generation = Generation(
            turn,
            self.client,
            FlushRate(),
            self.showing,
            Segment.off(),
            {turn.reply.pk},
            viewer.session_key,
        )
        generation.audience.join(viewer)
        return generation, viewer


@pytest.fixture
async def desk(alice: User, saved_upstream: Upstream) -> AsyncIterator[Desk]:
    client = UpstreamClient(usage_seconds=1.0)
    yield Desk(alice, saved_upstream, client)
    await client.aclose()


@pytest.fixture
def workshop(db: None, monkeypatch: pytest.MonkeyPatch) -> ToolServer:
    """A real MCP server whose tools need permission; prompts wait for it, however slow it is."""
    monkeypatch.setattr(registry, "PATIENCE_SECONDS", WAIT_SECONDS)
    command = f"{sys.executable} -m tests.tools.server stdio"
    return ToolServer.objects.create(name="workshop", transport="stdio", command=command)
