"""Run a check: ask one question after another and collect the results.

A question is repeated only if the upstream rejected one of its parameters. Questions never overlap,
because some upstreams serve only one request at a time. Raises only the caller's cancellation.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from chatapp.checks.results import CheckResult, note
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
from chatapp.upstream.check.report import Report, visible, visible_result
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.wire.dialects import AUTO, Dialect, UsageHabit
from chatapp.upstream.wire.errors import ErrorKind, UpstreamError, UpstreamFailed

LIMIT_SECONDS = 60.0

Progress = Callable[[str], None]
ResultCallback = Callable[[CheckResult], None]


async def check(
    endpoint: Endpoint,
    model: str = "",
    clock: ToolRecord | None = None,
    progress: Progress = lambda line: None,
    limit_seconds: float = LIMIT_SECONDS,
    on_result: ResultCallback = lambda result: None,
) -> Report:
    """Check the upstream at `endpoint`, within `limit_seconds`.

    Without a `model`, one from its list is used. With the tool `clock`, the check measures what it
    costs. `progress` is called with a line at the start and the end of each question, and
    `on_result` with each result of the report as soon as it is known.
    """
    client = UpstreamClient(limit_seconds)
    # Ignore the known settings: the check is to find them out.
    neutral = replace(endpoint, dialect=AUTO, takes_usage_option=True)
    run = _CheckRun(client, neutral, model, clock, progress, on_result, endpoint.dialect)
    try:
        async with asyncio.timeout(limit_seconds):
            await run.run()
    except TimeoutError:
        run.run_out_of_time(limit_seconds)
    finally:
        await client.aclose()
    run.report_new_results()
    return run.report()


@dataclass
class _CheckRun:
    client: UpstreamClient
    endpoint: Endpoint
    model: str
    clock: ToolRecord | None
    progress: Progress
    on_result: ResultCallback
    configured_dialect: Dialect
    results: list[CheckResult] = field(default_factory=list)
    problems: list[CheckResult] = field(default_factory=list)
    failed_with: ErrorKind | None = None
    reported_count: int = 0  # how many of the results `on_result` was called with
    has_served: bool = False
    _limits: list[str] = field(default_factory=lambda: list(LIMITS))

    async def run(self) -> None:
        listed = await self._list_models()
        if self.problems:
            return
        counted = await self._count(listed)
        if self.problems:
            return
        greeted = await self._check_usage(counted)
        with self._question("Asking for a tool call"):
            called = await self._ask(WEATHER)
            self.results.append(results.tools_result(called))
        with self._question("Asking a model that does not exist"):
            self.results.append(
                results.wrong_model_result(await self._ask(HELLO, model=WRONG_MODEL))
            )
        with self._question("Asking with a wrong key"):
            self.results.append(results.wrong_key_result(await self._ask(HELLO, key=WRONG_KEY)))
        with self._question("Closing a reply halfway, and asking again"):
            plain = await self._check_closing(greeted if greeted.has_said_something else counted)
        if self.clock and not called.reply.error:
            with self._question("Asking again with the clock offered"):
                offered = await self._ask(replace(HELLO, tools=(self.clock,)))
                self.results.append(results.clock_result(self.clock, plain, offered))

    def run_out_of_time(self, seconds: float) -> None:
        advice = "Anything missing here was not checked."
        finding = f"ended after {seconds:g} seconds"
        self.results.append(note("This check", finding, advice))
        if not self.has_served:
            self.problems.append(problems.out_of_time(seconds))

    def report_new_results(self) -> None:
        """Pass on the results that are new since the last call."""
        new, self.reported_count = self.results[self.reported_count :], len(self.results)
        for result in new:
            self.on_result(visible_result(result, self.endpoint.secret))

    def report(self) -> Report:
        secret = self.endpoint.secret
        return Report(
            tuple(visible_result(result, secret) for result in self.results),
            tuple(visible_result(problem, secret) for problem in self.problems),
            self.failed_with,
        )

    async def _list_models(self) -> list[str]:
        listed: list[str] = []
        with self._question("Asking for its models"):
            try:
                models = await self.client.list_models(self.endpoint)
                listed = [model.id for model in models]
            except UpstreamFailed as failed:
                self._give_up_without_models(failed.error)
                self.results.append(results.no_models_result(failed.error, bool(self.problems)))
            else:
                self.results.append(results.models_result(listed))
                self.model = self.model or model_for_chat(listed)
                if not self.model:
                    self.problems.append(problems.NO_MODEL)
        return listed

    def _give_up_without_models(self, error: UpstreamError) -> None:
        if self.model and error.kind is not ErrorKind.UNREACHABLE:
            return
        self.problems.append(problems.problem_of_list(error))
        self.failed_with = error.kind

    async def _count(self, listed: list[str]) -> Answer:
        """Ask for a count; the answer shows streaming, speed and where the reasoning is."""
        with self._question(f"Asking {self.model} to count"):
            answer = await self._ask(COUNT)
            if problem := problems.find_problem(answer):
                self.problems.append(problem)
                self.failed_with = answer.reply.error.kind if answer.reply.error else None
            if answer.has_said_something:
                self.results.append(results.model_result(self.model, listed, answer))
                self.results.append(results.stream_result(answer))
                self.results += results.timing_results(answer)
        self.has_served = not self.problems
        return answer

    async def _check_usage(self, counted: Answer) -> Answer:
        with self._question("Asking without stream_options"):
            greeted = await self._ask(HELLO, wants_usage=False)
        if greeted.reply.usage:
            habit = UsageHabit.ALWAYS
        else:
            habit = UsageHabit.OPT_IN if counted.reply.usage else UsageHabit.NEVER
        self.results += [
            results.usage_result(habit, self.endpoint.takes_usage_option),
            results.reasoning_result(counted),
            results.dialect_result(counted, habit, self.configured_dialect),
        ]
        return greeted

    async def _check_closing(self, before: Answer) -> Answer:
        options = LONG.options(self._limits[0])
        opened = self.client.stream(self.endpoint, self.model, LONG.messages, options)
        async with opened as batches:
            async for events in batches:
                if any(isinstance(event, DELTAS) for event in events):
                    break
        after = await self._ask(HELLO)
        self.results.append(results.closing_result(before.delta_times[0], after))
        return after

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

    @contextmanager
    def _question(self, what: str) -> Iterator[None]:
        """Report progress before and after a question, and what was found by then."""
        self.report_new_results()
        self.progress(visible(f"{what}…", self.endpoint.secret))
        began_at = time.monotonic()
        yield
        self.progress(f"  {results.duration(time.monotonic() - began_at)}")
        self.report_new_results()
