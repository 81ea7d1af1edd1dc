"""Run a check: ask one question after another and yield what the answers show.

A question is repeated only if the upstream rejected one of its parameters. Questions never overlap,
because some upstreams serve only one request at a time. Raises only the caller's cancellation.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace

from chatapp.checks.results import CheckResult, CheckStep, Heading, clean
from chatapp.upstream.check import problems, results
from chatapp.upstream.check.answers import DELTAS, Answer, failed_answer, read_answer
from chatapp.upstream.check.questions import (
    COUNT,
    HELLO,
    LIMITS,
    LONG,
    WEATHER,
    WRONG_KEY,
    WRONG_MODEL,
    Question,
    ToolRecord,
    model_for_chat,
)
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.wire.errors.upstream_error import (
    MIN_SECRET_LENGTH,
    ErrorKind,
    UpstreamError,
    UpstreamFailed,
)
from chatapp.upstream.wire.requests.dialects import AUTO, Dialect, UsageHabit

LIMIT_SECONDS = 60.0

Ask = Callable[[], Awaitable[list[CheckResult]]]


async def check(
    endpoint: Endpoint,
    model: str = "",
    clock: ToolRecord | None = None,
    limit_seconds: float = LIMIT_SECONDS,
) -> AsyncGenerator[CheckStep, None]:
    """Check the upstream at `endpoint`, within `limit_seconds`.

    Without a `model`, one from its list is used. With the tool `clock`, the check measures what it
    costs. A heading comes before the results of each question. The check ends at the first failed
    result, which says why the upstream can't serve the app.
    """
    secret = endpoint.secret if len(endpoint.secret) >= MIN_SECRET_LENGTH else ""
    client = UpstreamClient(limit_seconds)
    # Ignore the known settings: the check is to find them out.
    neutral = replace(endpoint, dialect=AUTO, takes_usage_option=True)
    run = _CheckRun(client, neutral, model, clock, endpoint.dialect)
    ends_at = asyncio.get_running_loop().time() + limit_seconds
    try:
        for title, ask in run.questions():
            yield Heading(clean(title, secret))
            async with asyncio.timeout_at(ends_at):
                answer_results = await ask()
            for result in answer_results:
                yield result.clean(secret)
            if any(result.has_failed for result in answer_results):
                return
    except TimeoutError:
        yield results.timeout_result(limit_seconds)
        if not run.has_served:
            yield problems.out_of_time(limit_seconds)
    finally:
        await client.aclose()


@dataclass
class _CheckRun:
    client: UpstreamClient
    endpoint: Endpoint
    model: str
    clock: ToolRecord | None
    configured_dialect: Dialect
    has_served: bool = False
    _limits: list[str] = field(default_factory=lambda: list(LIMITS))
    # What the upstream answered so far.
    _listed: list[str] = field(default_factory=list)
    _counted: Answer = field(init=False)
    _greeted: Answer = field(init=False)
    _called: Answer = field(init=False)
    _plain: Answer = field(init=False)

    def questions(self) -> Iterator[tuple[str, Ask]]:
        """Yield the title of each question, and how to ask it; it must be asked before the next."""
        yield "Asking for its models", self._list_models
        yield f"Asking {self.model} to count", self._count
        yield "Asking without stream_options", self._check_usage
        yield "Asking for a tool call", self._check_tools
        yield "Asking a model that does not exist", self._check_wrong_model
        yield "Asking with a wrong key", self._check_wrong_key
        yield "Closing a reply halfway, and asking again", self._check_closing
        if self.clock and not self._called.reply.error:
            yield "Asking again with the clock offered", self._check_clock

    async def _list_models(self) -> list[CheckResult]:
        try:
            models = await self.client.list_models(self.endpoint)
        except UpstreamFailed as failed:
            if self.model and failed.error.kind is not ErrorKind.UNREACHABLE:
                return [results.no_models_result(failed.error)]
            return [problems.problem_of_list(failed.error)]
        self._listed = [model.id for model in models]
        self.model = self.model or model_for_chat(self._listed)
        listing = results.models_result(self._listed)
        return [listing] if self.model else [listing, problems.NO_MODEL]

    async def _count(self) -> list[CheckResult]:
        """Ask for a count; the answer shows streaming, speed and where the reasoning is."""
        answer = self._counted = await self._ask(COUNT)
        count_results = []
        if answer.has_said_something:
            count_results = [
                results.model_result(self.model, self._listed, answer),
                results.stream_result(answer),
                *results.timing_results(answer),
            ]
        if problem := problems.find_problem(answer):
            count_results.append(problem)
        self.has_served = not problem
        return count_results

    async def _check_usage(self) -> list[CheckResult]:
        self._greeted = await self._ask(HELLO, wants_usage=False)
        if self._greeted.reply.usage:
            habit = UsageHabit.ALWAYS
        else:
            habit = UsageHabit.OPT_IN if self._counted.reply.usage else UsageHabit.NEVER
        return [
            results.usage_result(habit, self.endpoint.takes_usage_option),
            results.reasoning_result(self._counted),
            results.dialect_result(self._counted, habit, self.configured_dialect),
        ]

    async def _check_tools(self) -> list[CheckResult]:
        self._called = await self._ask(WEATHER)
        return [results.tools_result(self._called)]

    async def _check_wrong_model(self) -> list[CheckResult]:
        return [results.wrong_model_result(await self._ask(HELLO, model=WRONG_MODEL))]

    async def _check_wrong_key(self) -> list[CheckResult]:
        return [results.wrong_key_result(await self._ask(HELLO, key=WRONG_KEY))]

    async def _check_closing(self) -> list[CheckResult]:
        before = self._greeted if self._greeted.has_said_something else self._counted
        options = LONG.options(self._limits[0])
        opened = self.client.stream(self.endpoint, self.model, LONG.messages, options)
        async with opened as batches:
            async for events in batches:
                if any(isinstance(event, DELTAS) for event in events):
                    break
        self._plain = await self._ask(HELLO)
        return [results.closing_result(before.delta_times[0], self._plain)]

    async def _check_clock(self) -> list[CheckResult]:
        assert self.clock
        offered = await self._ask(replace(HELLO, tools=(self.clock,)))
        return [results.clock_result(self.clock, self._plain, offered)]

    async def _ask(
        self, question: Question, *, model: str = "", key: str = "", wants_usage: bool = True
    ) -> Answer:
        """Ask, and repeat without any parameter that the upstream rejects."""
        while True:
            endpoint = replace(self.endpoint, api_key=key) if key else self.endpoint
            if not wants_usage:
                endpoint = replace(endpoint, takes_usage_option=False)
            answer = await self._record(endpoint, model or self.model, question)
            if not (answer.reply.error and self._drop_rejected_parameter(answer.reply.error)):
                return answer

    async def _record(self, endpoint: Endpoint, model: str, question: Question) -> Answer:
        options = question.options(self._limits[0])
        try:
            recorded = await self.client.record(endpoint, model, question.messages, options)
        except UpstreamFailed as failed:
            return failed_answer(failed.error)
        return read_answer(recorded, self.endpoint.secret)

    def _drop_rejected_parameter(self, error: UpstreamError) -> bool:
        """Drop the parameter that the error rejects, if any; tell whether there was one."""
        if error.refuses_usage_option and self.endpoint.asks_for_usage:
            self.endpoint = replace(self.endpoint, takes_usage_option=False)
            return True
        limit = self._limits[0]
        if limit and error.status in (400, 422) and limit in f"{error.message} {error.param}":
            del self._limits[0]
            return True
        return False
