"""Whatever a person does with the branches of a chat, in whatever order and from whichever tab: it
opens, each tab shows what a fresh load shows, and nothing is lost that nobody deleted."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from itertools import takewhile
from typing import Any, TypeVar
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db.models import QuerySet
from django.test import AsyncClient
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from pytest_django import Settings

from chatapp.models import Conversation, Message, Upstream, User
from chatapp.worker import shut_down
from tests.chat.browsing import Browsing, Shown, shown_on
from tests.fake_upstream import FakeUpstream, Stall, delta, done, finish, role
from tests.page import Page

pytestmark = pytest.mark.django_db(transaction=True)

T = TypeVar("T")
TABS = st.integers(0, 2)
PICKS = st.integers(0, 30)  # one of as many as there are
WAIT_SECONDS, SETTLE_SECONDS = 300.0, 60.0
HALF = "half an answer"
Rows = dict[UUID, Message]


class Walk(RuleBasedStateMachine):
    """One conversation of Alice's in three tabs; set up by the test before any of its examples."""

    loop: asyncio.AbstractEventLoop
    client: AsyncClient
    upstream: FakeUpstream
    connected: int

    def __init__(self) -> None:
        super().__init__()
        self.upstream.forget()
        self.tabs = [Browsing(self.client) for _ in range(3)]
        self.number = 0
        self.rows: Rows = {}
        self.ended: dict[UUID, tuple[str, UUID | None]] = {}
        self.gone: set[UUID] = set()
        self.deletions: dict[UUID, set[UUID]] = {}  # what went with a message
        self.run(self._begin())

    def run(self, what: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(what, WAIT_SECONDS))

    async def _begin(self) -> None:
        await self.tabs[0].open()
        self._answers()
        await self.tabs[0].ask(self._text())
        await self.tabs[0].until_done()
        self.pk = UUID(self.tabs[0].page.form()["conversation"])
        for tab in self.tabs[1:]:
            await tab.open(f"/c/{self.pk}/")
        await self._settle()

    def _text(self) -> str:
        self.number += 1
        return f"text {self.number}"

    def _answers(self, *, ends: bool = True) -> None:
        self.upstream.forget()
        said = [delta(f"answer {self.number}"), finish(), done()]
        for _ in range(3):  # of several models
            self.upstream.script(role(), *(said if ends else [delta(HALF), Stall()]))

    # ---- what a person does

    @rule(tab=TABS, ends=st.booleans())
    def ask(self, tab: int, ends: bool) -> None:
        self._answers(ends=ends)
        self._act(self.tabs[tab].ask(self._text()))

    @rule(tab=TABS, count=st.integers(2, 3), ends=st.booleans())
    def ask_several(self, tab: int, count: int, ends: bool) -> None:
        self._answers(ends=ends)
        others = [f"{self.connected}/m{number}" for number in range(1, count)]
        self._act(self.tabs[tab].ask(self._text(), others="\n".join(others)))

    @rule(tab=TABS, pick=PICKS, ends=st.booleans())
    def edit(self, tab: int, pick: int, ends: bool) -> None:
        prompts = [one[0] for one in self.tabs[tab].shown if not one[2]]
        if prompts:
            self._answers(ends=ends)
            edited = prompts[pick % len(prompts)]
            self._act(self.tabs[tab].ask(self._text(), action="edit", edited=edited))

    @rule(tab=TABS, pick=PICKS, ends=st.booleans())
    def retry(self, tab: int, pick: int, ends: bool) -> None:
        self._answers(ends=ends)
        self._press(tab, "retry", pick)

    @rule(tab=TABS, pick=PICKS)
    def step(self, tab: int, pick: int) -> None:
        self._press(tab, "step", pick)

    @rule(tab=TABS)
    def stop(self, tab: int) -> None:
        self.run(self._stop(self.tabs[tab]))

    @rule(tab=TABS, pick=PICKS)
    def stop_one(self, tab: int, pick: int) -> None:
        self._press(tab, "stop", pick)

    @rule(tab=TABS, pick=PICKS)
    def delete(self, tab: int, pick: int) -> None:
        if shown := self.tabs[tab].shown:
            self._delete(UUID(shown[-1 - pick % len(shown)][0]), tab)

    @rule(tab=TABS)
    def undo(self, tab: int) -> None:
        for button in self.tabs[tab].buttons("restore"):
            root = UUID(re.findall(r'"message": "([^"]+)"', button.attributes["hx-vals"])[0])
            is_gone = root in self.gone
            parent = self.rows[root].parent_id
            self._act(self.tabs[tab].press(button))
            if is_gone and parent not in self.gone:
                self.gone -= self.deletions.pop(root)

    @rule(tab=TABS)
    def reload(self, tab: int) -> None:
        self._act(self.tabs[tab].open(f"/c/{self.pk}/"))

    @rule(tab=TABS, pick=PICKS)
    def fork(self, tab: int, pick: int) -> None:
        if shown := self.tabs[tab].shown:
            self.run(self._fork(self.tabs[tab], UUID(shown[pick % len(shown)][0])))

    @rule(pick=PICKS)
    def delete_while_others_ask(self, pick: int) -> None:
        """None of the tabs has seen what the others do."""
        if shown := self.tabs[0].shown:
            self._answers()
            asking = self.tabs[1].ask(self._text())
            self._delete(UUID(shown[-1 - pick % len(shown)][0]), 0, asking)

    @rule(pick=PICKS)
    def edit_while_others_retry(self, pick: int) -> None:
        buttons, shown = self.tabs[2].buttons("retry"), self.tabs[1].shown
        if buttons and shown:
            self._answers()
            prompt = next((one[0] for one in shown if not one[2]), shown[0][0])
            edit = self.tabs[1].ask(self._text(), action="edit", edited=prompt)
            self._act(edit, self.tabs[2].press(buttons[pick % len(buttons)]))

    # ---- how it is done, and what comes of it

    async def _stop(self, tab: Browsing) -> None:
        await tab.send(action="stop")
        streaming = Message.objects.filter(conversation=self.pk, ending="streaming")
        await self._until(lambda: _is_empty(streaming))
        await self._settle()

    def _press(self, tab: int, action: str, pick: int) -> None:
        if buttons := self.tabs[tab].buttons(action):
            self._act(self.tabs[tab].press(buttons[pick % len(buttons)]))

    def _delete(self, root: UUID, tab: int, *others: Coroutine[Any, Any, None]) -> None:
        self._act(self.tabs[tab].send(action="delete", message=str(root)), *others)
        if self.rows[root].deleted_at and root not in self.gone:
            self.deletions[root] = self._below(root) - self.gone
            self.gone |= self.deletions[root]

    def _below(self, root: UUID) -> set[UUID]:
        found = {root}
        while more := {pk for pk, one in self.rows.items() if one.parent_id in found} - found:
            found |= more
        return found

    async def _fork(self, tab: Browsing, message: UUID) -> None:
        before = {one.pk async for one in Conversation.objects.all()}
        is_running = self.rows[message].is_streaming
        await tab.send(action="fork", message=str(message))
        await tab.until_done()
        forks = [one async for one in Conversation.objects.exclude(pk__in=before)]
        assert len(forks) == (0 if is_running else 1)
        for fork in forks:
            page = await self._page(f"/c/{fork.pk}/")
            place = [one[0] for one in tab.shown].index(str(message))
            others = {one[0] for one in _beside(tab.shown)} - {str(message)}
            texts = [one[1:3] for one in tab.shown[: place + 1] if one[0] not in others]
            assert [one[1:3] for one in shown_on(page)] == texts

    def _act(self, *acts: Coroutine[Any, Any, None]) -> None:
        async def act() -> None:
            await asyncio.gather(*acts)
            for tab in self.tabs:
                await tab.until_done()
            await self._settle()

        self.run(act())

    async def _settle(self) -> None:
        """What was set going is shown as far as it comes by itself, in all tabs."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                await self._until(self._is_settled)
        self.rows = {one.pk: one async for one in Message.objects.filter(conversation=self.pk)}

    async def _until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        while not await condition():  # noqa: ASYNC110 - of the database, which tells nobody
            await asyncio.sleep(0.005)

    async def _is_settled(self) -> bool:
        for tab in self.tabs:
            await tab.take()
        fresh = shown_on(await self._page(f"/c/{self.pk}/"))
        if any(ending == "streaming" and text != HALF for _, text, ending, _ in fresh):
            return False
        return all([tab.shown == await self._loaded(tab, fresh) for tab in self.tabs])

    async def _loaded(self, tab: Browsing, fresh: Shown) -> Shown:
        """What a load shows of the branch that a tab shows: another one where its reader stays."""
        if tab.shown == fresh or not tab.shown:
            return fresh
        last = _beside(tab.shown) or tab.shown[-1:]
        pages = [shown_on(await self._page(f"/c/{self.pk}/?at={one[0]}")) for one in last]
        return pages[0][:-1] + [one for page in pages for one in page[-1:]]

    async def _page(self, path: str) -> Page:
        response = await self.client.get(path)
        assert response.status_code == 200
        return Page(response.content.decode())

    # ---- what is always so

    @invariant()
    def the_tree_is_whole_and_has_what_nobody_deleted(self) -> None:
        assert {pk for pk, one in self.rows.items() if one.deleted_at} == self.gone
        for pk, one in self.rows.items():
            parent = self.rows[one.parent_id] if one.parent_id else None
            assert one.is_prompt or (parent and parent.is_prompt)
            assert pk in self.gone or parent is None or parent.pk not in self.gone
            assert one.is_prompt is (one.ending == "")

    @invariant()
    def nothing_is_overwritten(self) -> None:
        texts = {one.content for one in self.rows.values() if one.is_prompt}
        for pk, (content, parent) in self.run(self._before()).items():
            assert (self.rows[pk].content, self.rows[pk].parent_id) == (content, parent)
        assert len(texts) == sum(one.is_prompt for one in self.rows.values())

    async def _before(self) -> dict[UUID, tuple[str, UUID | None]]:
        before = self.ended
        ended = [one for one in self.rows.values() if not one.is_streaming]
        self.ended = before | {one.pk: (one.content, one.parent_id) for one in ended}
        return before

    @invariant()
    def each_tab_shows_what_a_fresh_load_shows(self) -> None:
        self.run(self._compare())

    async def _compare(self) -> None:
        fresh = shown_on(await self._page(f"/c/{self.pk}/"))
        for tab in self.tabs:
            assert tab.shown == await self._loaded(tab, fresh)

    def teardown(self) -> None:
        try:
            self.run(self._all_is_reached())
        finally:
            for tab in self.tabs:
                self.run(tab.close())

    async def _all_is_reached(self) -> None:
        """By stepping, from wherever."""
        conversation = await Conversation.objects.aget(pk=self.pk)
        there = [one for pk, one in self.rows.items() if pk not in self.gone]
        for one in there:
            branch = (await sync_to_async(conversation.view_around)(one.pk)).thread
            assert one.pk in {message.pk for message in branch}
            for message in branch:
                family = {other.pk for other in there if other.parent_id == message.parent_id}
                assert {sibling.pk for sibling in message.siblings} == family


def _beside(shown: Shown) -> Shown:
    """The replies that are shown side by side, if any."""
    replies = list(takewhile(lambda one: one[2], reversed(shown)))
    return replies[::-1] if len(replies) > 1 else []


async def _is_empty(found: "QuerySet[Message]") -> bool:
    return not await found.aexists()


def test_no_order_of_branching_loses_anything_or_leaves_a_chat_that_does_not_open(
    alice: User, connected: Upstream, upstream: FakeUpstream, settings: Settings
) -> None:
    settings.CHATAPP_CLOSE_GRACE = settings.CHATAPP_DROP_GRACE = 0.0
    settings.CHATAPP_ACTIONS_PER_SECOND = 10_000
    Walk.loop, Walk.upstream = asyncio.new_event_loop(), upstream
    Walk.connected = connected.pk
    Walk.client = AsyncClient(headers={"host": "localhost"})
    Walk.client.force_login(alice)
    try:
        run_state_machine_as_test(Walk, settings=WALKS)
    finally:
        Walk.loop.run_until_complete(shut_down(0))
        Walk.loop.close()


WALKS = settings(
    max_examples=10,
    stateful_step_count=12,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
