"""Random walks over the branches of a chat, in three tabs. After every step the page opens, each
tab shows what a fresh load shows, and no message is lost that nobody deleted."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from itertools import takewhile
from typing import Any, NamedTuple, Self, TypeVar
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from django.db import transaction
from django.db.models import QuerySet
from django.test import AsyncClient, Client
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from pytest_django import Settings

from chatapp.models import Conversation, Message, Upstream, User
from chatapp.realtime.worker import shut_down
from tests.chat.browsing import Browsing, ShownMessages, read_html, read_messages
from tests.support.fake_upstream import FakeUpstream, Stall, delta, done, finish, role
from tests.support.page import Element, Page
from tests.support.profile import choose_size

pytestmark = pytest.mark.django_db

T = TypeVar("T")
TABS = st.integers(0, 2)
PICKS = st.integers(0, 30)  # an index, modulo the number of choices
WAIT_SECONDS, SETTLE_SECONDS = 300.0, 60.0
MODELS = ["fake-model", "m1", "m2"]
HALF = "half an answer"
Rows = dict[UUID, Message]


class LoadedPage(NamedTuple):
    """A page: its messages as read, the HTML of each, and the parent of the next prompt."""

    messages: ShownMessages
    html: dict[str, str]
    parent: str

    @classmethod
    def of(cls, page: Page) -> Self:
        return cls(read_messages(page), read_html(page), page.form()["parent"])


class Walk(RuleBasedStateMachine):
    """One of Alice's conversations in three tabs. The test sets it up before all examples."""

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
        self.reads: list[list[str]] = [[]] * 3  # the messages of each tab's branch
        self.loaded: list[LoadedPage] = []  # a fresh load of each tab's branch
        self.new: list[Message] = []  # the messages of the last turn
        self.deletions: dict[UUID, set[UUID]] = {}  # everything deleted with a message
        self.run_coroutine(self._begin())

    def run_coroutine(self, what: Coroutine[Any, Any, T]) -> T:
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
        events = [delta(f"answer {self.number}"), finish(), done()]
        for _ in range(3):  # one for each model
            self.upstream.script(role(), *(events if ends else [delta(HALF), Stall()]))

    # ---- Actions

    @rule(tab=TABS, count=st.integers(1, 3), ends=st.booleans())
    def ask(self, tab: int, count: int, ends: bool) -> None:
        """Ask one model or several at once."""
        messages = self.tabs[tab].shown_messages
        prompts = [message[0] for message in messages if not message[2]]
        follows = (
            prompts[-1]
            if len(_find_beside(messages)) > 1
            else messages[-1][0]
            if messages
            else None
        )
        self._answers(ends=ends)
        self._turn(self.tabs[tab].ask(self._text(), **self._models(count)))
        if self.new:
            [prompt] = [message for message in self.new if message.is_prompt]
            parent = self.rows[prompt.parent_id] if prompt.parent_id else None
            chosen = (
                parent.parent_id if parent and len(_find_beside(messages)) > 1 else prompt.parent_id
            )
            assert str(chosen or "") == (follows or "")
            assert [message.model for message in self.new if not message.is_prompt] == MODELS[
                :count
            ]

    @rule(tab=TABS, pick=PICKS, count=st.integers(1, 3), ends=st.booleans())
    def edit(self, tab: int, pick: int, count: int, ends: bool) -> None:
        prompts = [self.rows[UUID(row[0])] for row in self.tabs[tab].shown_messages if not row[2]]
        if typed := [prompt for prompt in prompts if not prompt.is_continuation]:
            edited = typed[pick % len(typed)]
            fields = {"action": "edit", "edited": str(edited.pk)} | self._models(count)
            self._answers(ends=ends)
            self._turn(self.tabs[tab].ask(self._text(), **fields))
            for message in self.new:
                assert not message.is_prompt or message.parent_id == edited.parent_id
                assert message.is_prompt or message.model in MODELS[:count]

    @rule(tab=TABS, pick=PICKS, model=st.sampled_from(MODELS), ends=st.booleans())
    def retry(self, tab: int, pick: int, model: str, ends: bool) -> None:
        """Retry a reply or a prompt, with the same model or another one."""
        if buttons := self._retries(tab):
            button = buttons[pick % len(buttons)]
            named = self.rows[UUID(json.loads(button.attributes["hx-vals"])["reply"])]
            self._answers(ends=ends)
            self._turn(self.tabs[tab].press(button, model=f"{self.connected}/{model}"))
            prompt = named.pk if named.is_prompt else named.parent_id
            for reply in self.new:
                assert (reply.parent_id, reply.model, reply.is_prompt) == (prompt, model, False)

    @rule(tab=TABS, pick=PICKS, ends=st.booleans())
    def go_on(self, tab: int, pick: int, ends: bool) -> None:
        """Continue a reply that was stopped and that nothing follows yet."""
        self._answers(ends=ends)
        self._press(tab, "continue", pick)

    @rule(tab=TABS, pick=PICKS)
    def step(self, tab: int, pick: int) -> None:
        """Step to a sibling, or continue with one of several replies."""
        if buttons := self.tabs[tab].buttons("step"):
            button = buttons[pick % len(buttons)]
            to = json.loads(button.attributes["hx-vals"])["message"]
            self.reads[tab] = _ids(self.run_coroutine(self._look_at(to)))
            self._act(self.tabs[tab].press(button))
            assert to in self.reads[tab]
            if not self._is_running:  # otherwise a load shows the streaming reply
                assert self.reads[tab] == _ids(self.run_coroutine(self._load()))

    @rule(tab=TABS)
    def stop(self, tab: int) -> None:
        self.run_coroutine(self._stop(self.tabs[tab]))

    @rule(tab=TABS, pick=PICKS)
    def stop_one(self, tab: int, pick: int) -> None:
        self._press(tab, "stop", pick)

    @rule(tab=TABS, pick=PICKS)
    def delete(self, tab: int, pick: int) -> None:
        if messages := self.tabs[tab].shown_messages:
            self._delete(UUID(messages[-1 - pick % len(messages)][0]), tab)

    @rule(tab=TABS)
    def undo(self, tab: int) -> None:
        for button in self.tabs[tab].buttons("restore"):
            values = json.loads(button.attributes["hx-vals"])
            root, head = UUID(values["message"]), UUID(values["head"])
            is_taken = root in self.gone and self.rows[root].parent_id not in self.gone
            self._act(self.tabs[tab].press(button))
            if is_taken:
                self.gone -= self.deletions.pop(root)
                # The branch that was read then, unless a reply is running elsewhere.
                assert self._is_running or head in self.gone or str(head) in self.reads[tab]

    @rule(tab=TABS)
    def reload(self, tab: int) -> None:
        self.reads[tab] = _ids(self.run_coroutine(self._load()))
        self._act(self.tabs[tab].open(f"/c/{self.pk}/"))

    @rule(tab=TABS, pick=PICKS)
    def fork(self, tab: int, pick: int) -> None:
        if messages := self.tabs[tab].shown_messages:
            self.run_coroutine(self._fork(self.tabs[tab], UUID(messages[pick % len(messages)][0])))

    @rule(pick=PICKS)
    def delete_while_others_ask(self, pick: int) -> None:
        """Act in several tabs before any of them has seen the others' changes."""
        if messages := self.tabs[0].shown_messages:
            self._answers()
            asking = self.tabs[1].ask(self._text())
            self._delete(UUID(messages[-1 - pick % len(messages)][0]), 0, asking)

    @rule(pick=PICKS)
    def edit_while_others_retry(self, pick: int) -> None:
        buttons, messages = self._retries(2), self.tabs[1].shown_messages
        if buttons and messages:
            self._answers()
            prompt = next((message[0] for message in messages if not message[2]), messages[0][0])
            edit = self.tabs[1].ask(self._text(), action="edit", edited=prompt)
            self._act(edit, self.tabs[2].press(buttons[pick % len(buttons)]))

    # ---- Helpers

    async def _stop(self, tab: Browsing) -> None:
        await tab.send(action="stop")
        streaming = Message.objects.filter(conversation=self.pk, ending="streaming")
        await self._until(lambda: _is_empty(streaming))
        await self._settle()

    def _models(self, count: int) -> dict[str, str]:
        """Choose this many models, regardless of the page's own choice."""
        model, *others = [f"{self.connected}/{model}" for model in MODELS[:count]]
        return {"model": model, "others": "\n".join(others)}

    def _retries(self, tab: int) -> list[Element]:
        """Return the Retry buttons, except the menu's, which a script has to fill."""
        buttons = self.tabs[tab].buttons("retry")
        return [button for button in buttons if '"reply"' in button.attributes["hx-vals"]]

    @property
    def _is_running(self) -> bool:
        return any(row.is_streaming for row in self.rows.values())

    def _turn(self, asking: Coroutine[Any, Any, None]) -> None:
        """Ask, and check that it is accepted unless a reply is running in the conversation."""
        before, was_running = set(self.rows), self._is_running
        self._act(asking)
        self.new = [row for pk, row in self.rows.items() if pk not in before]
        self.new.sort(key=lambda row: row.slot)
        assert bool(self.new) is not was_running

    def _press(self, tab: int, action: str, pick: int) -> None:
        if buttons := self.tabs[tab].buttons(action):
            self._act(self.tabs[tab].press(buttons[pick % len(buttons)]))

    def _delete(self, root: UUID, tab: int, *others: Coroutine[Any, Any, None]) -> None:
        below = [self.rows[pk] for pk in self._find_descendants(root)]
        is_taken = not any(row.is_streaming for row in below)
        self._act(self.tabs[tab].send(action="delete", message=str(root)), *others)
        assert others or bool(self.rows[root].deleted_at) is is_taken
        if self.rows[root].deleted_at and root not in self.gone:
            self.deletions[root] = self._find_descendants(root) - self.gone
            self.gone |= self.deletions[root]

    def _find_descendants(self, root: UUID) -> set[UUID]:
        descendants = {root}
        while (
            more := {pk for pk, row in self.rows.items() if row.parent_id in descendants}
            - descendants
        ):
            descendants |= more
        return descendants

    async def _fork(self, tab: Browsing, message: UUID) -> None:
        before = {chat.pk async for chat in Conversation.objects.all()}
        is_running = self.rows[message].is_streaming
        await tab.send(action="fork", message=str(message))
        await tab.until_done()
        forks = [fork async for fork in Conversation.objects.exclude(pk__in=before)]
        assert len(forks) == (0 if is_running else 1)
        for fork in forks:
            page = await self._page(f"/c/{fork.pk}/")
            place = [shown_message[0] for shown_message in tab.shown_messages].index(str(message))
            others = {message_row[0] for message_row in _find_beside(tab.shown_messages)} - {
                str(message)
            }
            texts = [
                message_row[1:3]
                for message_row in tab.shown_messages[: place + 1]
                if message_row[0] not in others
            ]
            assert [message_row[1:3] for message_row in read_messages(page)] == texts

    def _act(self, *acts: Coroutine[Any, Any, None]) -> None:
        async def act() -> None:
            await asyncio.gather(*acts)
            for tab in self.tabs:
                await tab.until_done()
            await self._settle()

        self.run_coroutine(act())

    async def _settle(self) -> None:
        """Wait until all tabs show everything that happens without further action."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                await self._until(self._is_settled)
        self.rows = await self._load_rows()

    async def _load_rows(self) -> Rows:
        return {row.pk: row async for row in Message.objects.filter(conversation=self.pk)}

    async def _until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        while not await condition():  # noqa: ASYNC110 - the database sends no notice
            await asyncio.sleep(0.005)

    async def _is_settled(self) -> bool:
        """Whether all tabs show what they should.

        A prompt, a deletion or a restoration moves all tabs to its branch. A step moves only its
        own tab; the others stay until something else happens.
        """
        for tab in self.tabs:
            await tab.swap_frames()
        fresh = await self._load()
        if any(ending == "streaming" and text != HALF for _, text, ending, _ in fresh.messages):
            return False
        if _present_ids(await self._load_rows()) != _present_ids(self.rows):
            self.reads = [_ids(fresh)] * len(self.tabs)
        self.loaded = [await self._load_messages(ids, fresh) for ids in self.reads]
        return [LoadedPage.of(tab.page) for tab in self.tabs] == self.loaded

    async def _load_messages(self, ids: list[str], fresh: "LoadedPage") -> "LoadedPage":
        """Load these messages; replies side by side take one load each."""
        if ids == _ids(fresh):
            return fresh
        last = list(takewhile(lambda pk: not self.rows[UUID(pk)].is_prompt, reversed(ids)))
        pages = [await self._look_at(pk) for pk in reversed(last or ids[-1:])]
        messages = pages[0].messages[:-1] + [page.messages[-1] for page in pages]
        html = {pk: html for page in pages for pk, html in page.html.items()}
        return LoadedPage(messages, html, pages[0].parent)

    async def _look_at(self, message: str) -> "LoadedPage":
        """Load the message's link. That would change the last read branch, so roll it back."""

        def look() -> str:
            browser = Client(headers={"host": "localhost"})
            browser.cookies = self.client.cookies
            with transaction.atomic():
                page = browser.get(f"/c/{self.pk}/?at={message}").text
                transaction.set_rollback(True)
            return page

        return LoadedPage.of(Page(await database_sync_to_async(look)()))

    async def _load(self) -> "LoadedPage":
        return LoadedPage.of(await self._page(f"/c/{self.pk}/"))

    async def _page(self, path: str) -> Page:
        response = await self.client.get(path)
        assert response.status_code == 200
        return Page(response.content.decode())

    # ---- Invariants

    @invariant()
    def the_tree_is_whole_and_has_what_nobody_deleted(self) -> None:
        assert {pk for pk, row in self.rows.items() if row.deleted_at} == self.gone
        for pk, row in self.rows.items():
            parent = self.rows[row.parent_id] if row.parent_id else None
            assert row.is_prompt or (parent and parent.is_prompt)
            assert pk in self.gone or parent is None or parent.pk not in self.gone
            assert row.is_prompt is (row.ending == "")

    @invariant()
    def nothing_is_overwritten(self) -> None:
        prompts = [row for row in self.rows.values() if row.is_prompt]
        typed = [prompt.content for prompt in prompts if not prompt.is_continuation]
        for pk, (content, parent) in self.run_coroutine(self._before()).items():
            assert (self.rows[pk].content, self.rows[pk].parent_id) == (content, parent)
        assert len(set(typed)) == len(typed)

    async def _before(self) -> dict[UUID, tuple[str, UUID | None]]:
        before = self.ended
        ended = [row for row in self.rows.values() if not row.is_streaming]
        self.ended = before | {
            ended_row.pk: (ended_row.content, ended_row.parent_id) for ended_row in ended
        }
        return before

    @invariant()
    def each_tab_shows_what_a_fresh_load_shows(self) -> None:
        """On its branch: every message to the letter, and the parent of the next prompt."""
        for tab, loaded in zip(self.tabs, self.loaded, strict=True):
            assert LoadedPage.of(tab.page) == loaded

    def teardown(self) -> None:
        try:
            self.run_coroutine(self._all_is_reached())
        finally:
            for tab in self.tabs:
                self.run_coroutine(tab.close())

    async def _all_is_reached(self) -> None:
        """Check that stepping reaches every message from everywhere."""
        conversation = await Conversation.objects.aget(pk=self.pk)
        there = [row for pk, row in self.rows.items() if pk not in self.gone]
        for row in there:
            branch = (await sync_to_async(conversation.view_around)(row.pk)).thread
            assert row.pk in {message.pk for message in branch}
            for message in branch:
                family = {other.pk for other in there if other.parent_id == message.parent_id}
                assert {sibling.pk for sibling in message.siblings} == family


def _ids(loaded: LoadedPage) -> list[str]:
    return [message[0] for message in loaded.messages]


def _present_ids(rows: Rows) -> set[UUID]:
    return {pk for pk, row in rows.items() if row.deleted_at is None}


def _find_beside(messages: ShownMessages) -> ShownMessages:
    """Return the replies shown side by side, if any."""
    replies = list(takewhile(lambda message: message[2], reversed(messages)))
    return replies[::-1] if len(replies) > 1 else []


async def _is_empty(messages: "QuerySet[Message]") -> bool:
    return not await messages.aexists()


@pytest.mark.parametrize("part", range(choose_size(1, 10)))
@pytest.mark.django_db(transaction=True)
def test_no_sequence_of_branching_loses_messages_or_breaks_the_page(
    alice: User, saved_upstream: Upstream, upstream: FakeUpstream, settings: Settings, part: int
) -> None:
    settings.CHATAPP_CLOSE_GRACE = settings.CHATAPP_DROP_GRACE = 0.0
    settings.CHATAPP_ACTIONS_PER_SECOND = 10_000
    Walk.loop, Walk.upstream = asyncio.new_event_loop(), upstream
    Walk.connected, upstream.models = saved_upstream.pk, MODELS
    Walk.client = AsyncClient(headers={"host": "localhost"})
    Walk.client.force_login(alice)
    try:
        run_state_machine_as_test(Walk, settings=MANY)
    finally:
        Walk.loop.run_until_complete(shut_down(0))
        Walk.loop.close()


MANY = settings(
    max_examples=choose_size(4, 20),
    stateful_step_count=12,
    phases=[Phase.reuse, Phase.generate],  # no shrinking: each failing attempt would time out
    suppress_health_check=list(HealthCheck),
)
