"""Bookkeeping: the saved and summed usage agrees with what a scripted upstream counted.

Covers every ending with one and two rounds, one and three choices, with and without a retry, with
and without a usage report. Reported usage is saved exactly. Estimated usage, for an upstream with
tokens of up to six letters, is bounded: the true figure never exceeds the upper estimate, and the
estimate is between a third and three times of the true figure.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import product
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db.models import Sum
from django.test import Client
from pytest_django import Settings

from chatapp.models import Conversation, Limit, Message, Upstream, Usage
from chatapp.realtime.worker import shut_down, worker
from chatapp.upstream.wire.reply import Ending
from tests.support.fake_upstream import (
    Close,
    FakeUpstream,
    Request,
    Stall,
    Step,
    choice,
    chunk,
    done,
    error,
    finish,
    frame,
    role,
    usage,
)
from tests.support.live import Person, Server, Site
from tests.support.present import present
from tests.support.profile import choose_size, sample_params
from tests.support.program import WAIT_SECONDS
from tests.support.tab import Tab
from tests.support.visitor import visit

PROMPT = "Why is the sky blue, and 왜 하늘은 파란가요?"
WORDS = (
    "Sunlight ",
    "is scattered ",
    "by the air, ",
    "레일리 산란, ",
    "most of all ",
    "where it is ",
)
LAST = "blue."
CALL = {"name": "current_date_and_time", "arguments": "{}"}

EARLY = (Ending.STOPPED, Ending.ABANDONED, Ending.INTERRUPTED)
SAID: dict[Ending, list[Step]] = {
    Ending.COMPLETE: [finish()],
    Ending.REFUSED: [finish()],
    Ending.NO_ANSWER: [finish()],
    Ending.LENGTH: [finish("length")],
    Ending.CONTENT_FILTER: [finish("content_filter")],
    Ending.OVER_BUDGET: [finish("length")],  # when max_tokens came from the budget
    Ending.FAILED: [error()],
    Ending.CUT_OFF: [Close()],
    Ending.TIMED_OUT: [Stall()],
    **{ending: [Stall()] for ending in EARLY},
}

FIELDS = {Ending.REFUSED: "refusal", Ending.NO_ANSWER: "reasoning_content"}


def count_tokens(text: str) -> int:
    """Count the upstream's tokens: up to six letters, or any other single character."""
    return len(re.findall(r"[a-z]{1,6}|[^a-z]", text, re.IGNORECASE))


@dataclass(frozen=True)
class Case:
    """One reply: its ending and its course."""

    ending: Ending
    is_reported: bool
    rounds: int
    choices: int
    try_before: str  # "", "refused" or "paid"

    def script(self, upstream: FakeUpstream) -> None:
        if self.try_before == "refused":
            upstream.fail(503, {"error": {"message": "busy"}})
        if self.try_before == "paid":
            upstream.script(
                *self._build_usage(50, 0), frame({"error": {"code": "503", "message": "busy"}})
            )
        if self.rounds == 2:
            call = choice({"tool_calls": [{"index": 0, "id": "call_0", "function": CALL}]})
            others = [self._build_finish(other) for other in range(1, self.choices)]
            upstream.script(
                role(), call, *others, finish("tool_calls"), *self._build_usage(200, 20), done()
            )
        upstream.script(*self._answer())

    def _answer(self) -> list[Step]:
        steps: list[Step] = [role()]
        steps += [self._delta(index, word) for word in WORDS for index in range(self.choices)]
        steps += [*self._build_usage(300, 30), self._delta(0, LAST)]
        if self.ending in (Ending.STOPPED, Ending.ABANDONED, Ending.INTERRUPTED, Ending.CUT_OFF):
            return [*steps, *SAID[self.ending]]
        others = [self._build_finish(other) for other in range(1, self.choices)]
        return [*steps, *others, *SAID[self.ending], done()]

    def _delta(self, index: int, text: str) -> bytes:
        field = FIELDS.get(self.ending, "content")
        return chunk([{"index": index, "delta": {field: text}, "finish_reason": None}])

    def _build_finish(self, index: int) -> bytes:
        return chunk([{"index": index, "delta": {}, "finish_reason": "stop"}])

    def _build_usage(self, prompt: int, completion: int) -> list[bytes]:
        return [usage(prompt, completion)] if self.is_reported else []

    def truth(self, requests: list[Request]) -> tuple[int, int]:
        """Return what the upstream counted: prompt and completion tokens."""
        paid = (50, 0) if self.try_before == "paid" else (0, 0)
        called = (200, 20) if self.rounds == 2 else (0, 0)
        if self.is_reported:
            return paid[0] + called[0] + 300, paid[1] + called[1] + 30
        answered = requests[-self.rounds :]  # a refused request is not counted
        prompt = sum(map(count_prompt_tokens, answered))
        completion = self.choices * sum(map(count_tokens, WORDS)) + count_tokens(LAST)
        return prompt, completion + (self.rounds - 1) * (count_tokens(CALL["name"]) + 8)


def count_prompt_tokens(request: Request) -> int:
    texts = [json.dumps(message, ensure_ascii=False) for message in request.body["messages"]]
    tools = [json.dumps(tool) for tool in request.body.get("tools", ())]
    return sum(count_tokens(text) for text in (*texts, *tools)) + 20


def cases(ending: Ending) -> list[Case]:
    before = ("", "refused", "paid")
    all_cases = [Case(ending, *course) for course in product((True, False), (1, 2), (1, 3), before)]
    # A failed try that costs tokens can only be known from its usage report.
    verifiable_cases = [case for case in all_cases if case.is_reported or case.try_before != "paid"]
    return verifiable_cases[:: choose_size(4, 1)]


@pytest.fixture
async def book_keeping(
    alices: Client, saved_upstream: Upstream, settings: Settings
) -> AsyncIterator[Client]:
    settings.CHATAPP_CLOSE_GRACE = 0.0
    yield alices
    await shut_down(0)


@pytest.mark.django_db
@pytest.mark.parametrize("ending", SAID)
async def test_the_saved_usage_is_what_the_upstream_counted(
    book_keeping: Client, upstream: FakeUpstream, saved_upstream: Upstream, ending: Ending
) -> None:
    books: Counter[str] = Counter()
    for case in cases(ending):
        saved_upstream.parameters = {"n": case.choices}
        saved_upstream.silence_seconds = 1 if ending is Ending.TIMED_OUT else int(WAIT_SECONDS)
        await saved_upstream.asave()
        if ending is Ending.OVER_BUDGET:
            await Limit.objects.all().adelete()
            await Limit.objects.acreate(measure="tokens", cap=4000, period="ever")
        before = len(upstream.chat_requests)
        reply = await ask(case, book_keeping, upstream)
        message = await Message.objects.select_related("usage").aget(pk=reply)
        assert message.ending == ending, case
        prompt, completion = case.truth(upstream.chat_requests[before:])
        check(case, message.usage, prompt, completion)
        saved = message.usage
        books["saved"] += saved.total_tokens or 0
        books[f"{saved.provenance} replies"] += 1
        books[f"{saved.provenance}: the upstream's"] += prompt + completion
        books[f"{saved.provenance}: ours"] += saved.total_tokens or 0
        books["estimated: at most"] += saved.upper_total_tokens or 0
    await check_that_everything_is_booked_once(books.pop("saved"), len(cases(ending)))
    print(f"{ending}: {dict(books)}")


async def ask(case: Case, client: Client, upstream: FakeUpstream) -> UUID:
    """Send the prompt and end the reply as the case says."""
    case.script(upstream)
    async with Tab(client) as tab:
        reply = await tab.ask(PROMPT)
        if case.ending in EARLY:
            await tab.until(LAST)
        if case.ending is Ending.STOPPED:
            message = await Message.objects.aget(pk=reply)
            await tab.send(action="stop", conversation=str(message.conversation_id))
        if case.ending is Ending.ABANDONED:
            await tab.close(1001)
            await worker().until_saved()
        elif case.ending is Ending.INTERRUPTED:
            await shut_down(0)
        else:
            await tab.until_ended()
    return reply


def check(case: Case, saved: Usage, prompt: int, completion: int) -> None:
    details = f"{case}: {prompt} in, {completion} out; saved {saved.as_record()}"
    assert saved.prompt_tokens is not None, details
    assert saved.completion_tokens is not None, details
    assert saved.total_tokens == saved.prompt_tokens + saved.completion_tokens, details
    if case.is_reported:
        assert saved.provenance == Usage.Provenance.REPORTED, details
        assert (saved.prompt_tokens, saved.completion_tokens) == (prompt, completion), details
        return
    assert saved.provenance == Usage.Provenance.ESTIMATED, details
    assert prompt <= (saved.upper_prompt_tokens or 0), details
    assert completion <= (saved.upper_completion_tokens or 0), details
    assert prompt / 3 <= saved.prompt_tokens <= 3 * prompt, details
    assert completion / 3 <= saved.completion_tokens <= 3 * completion, details


@sync_to_async
def check_that_everything_is_booked_once(total: int, replies: int) -> None:
    replied = Message.objects.filter(role=Message.Role.ASSISTANT, choice=0)
    with_usage = replied.exclude(usage=None)
    assert replied.count() == with_usage.count() == Usage.objects.count() == replies
    assert Usage.objects.aggregate(sum=Sum("total_tokens"))["sum"] == total
    conversations = Conversation.objects.with_usage()
    assert sum(conversation.total_tokens for conversation in conversations) == total
    assert sum(conversation.reply_count for conversation in conversations) == replies


# Requests that were not sent or not answered


@pytest.mark.django_db
async def test_a_round_that_was_never_requested_costs_nothing(
    book_keeping: Client, upstream: FakeUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatapp.realtime.generation.writer.MAX_ROUNDS", 2)
    call = choice({"tool_calls": [{"index": 0, "id": "call_0", "function": CALL}]})
    upstream.default = [role(), call, finish("tool_calls"), usage(10, 5), done()]
    async with Tab(book_keeping) as tab:
        reply = await tab.ask(PROMPT)
        await tab.until_ended()
    saved = await Usage.objects.aget(message=reply)
    assert (saved.provenance, saved.total_tokens) == ("reported", 30)


@pytest.mark.django_db
async def test_the_usage_of_a_refused_request_is_unknown_and_of_a_silent_one_estimated(
    book_keeping: Client, upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    upstream.fail(401, {"error": {"message": "no"}})
    saved_upstream.silence_seconds = 1
    await saved_upstream.asave()
    upstream.script(Stall())
    saved = []
    for _ in range(2):
        async with Tab(book_keeping) as tab:
            reply = await tab.ask(PROMPT)
            await tab.until_ended()
            saved.append(await Usage.objects.aget(message=reply))
    assert [row.provenance for row in saved] == ["unknown", "estimated"]
    assert saved[1].completion_tokens == 0
    assert count_prompt_tokens(upstream.chat_requests[1]) <= present(saved[1].upper_prompt_tokens)


# kill -9

BOOKED = """
import json
from chatapp.models import Usage
print(json.dumps([one.as_record() for one in Usage.objects.all()]))
"""
OFFER = """
from chatapp.models import Upstream
Upstream.objects.update(parameters={{"n": {choices}}})
"""
LIMIT = """
import django
django.setup()
from chatapp.models import Limit
Limit.objects.create(measure="tokens", cap=10**9, period="ever")
"""
CHARGED = """
import django, json
django.setup()
from chatapp.models import BudgetAccount
print(json.dumps([[one.spent, one.held, one.overrun] for one in BudgetAccount.objects.all()]))
"""


@pytest.mark.parametrize(("rounds", "choices"), sample_params([(1, 3), (2, 1)]))
@pytest.mark.parametrize("is_journalled", sample_params([True, False]))
async def test_a_reply_whose_process_was_killed_is_booked(
    site: Site, upstream: FakeUpstream, rounds: int, choices: int, is_journalled: bool
) -> None:
    case = Case(Ending.INTERRUPTED, False, rounds, choices, "refused")
    server = site.server(OPENAI_BASE_URL=upstream.base_url, CHATAPP_DROP_GRACE="3600")
    if not is_journalled:
        (server.data_dir / "journal").touch()
    with server:
        server.run(OFFER.format(choices=choices) + LIMIT)
        case.script(upstream)
        await kill_in_mid_reply(server, site.person(), is_journalled)
        server.start()
        [record] = json.loads(server.run(BOOKED))
        check(case, Usage(**record), *case.truth(upstream.chat_requests))
        server.kill()
        server.start()
        assert json.loads(server.run(BOOKED)) == [record]
        charged = json.loads(server.run(CHARGED))
        assert charged == [[record["total_tokens"], 0, 0]]


async def kill_in_mid_reply(server: Server, person: Person, is_journalled: bool) -> None:
    async with visit(server, person) as visitor:
        await visitor.send(PROMPT)
        await visitor.until_says(LAST)
        if not is_journalled:
            await until_checkpointed(server)
        server.kill()


async def until_checkpointed(server: Server) -> None:
    """Wait for a checkpoint, which holds what the reply has cost so far."""
    script = (
        "import time\n"
        "from chatapp.models import Message\n"
        f"give_up_at = time.monotonic() + {WAIT_SECONDS}\n"
        f"while not Message.objects.filter(content__endswith={LAST!r}).exists():\n"
        "    assert time.monotonic() < give_up_at\n"
        "    time.sleep(0.1)\n"
    )
    await asyncio.to_thread(server.run, script)
