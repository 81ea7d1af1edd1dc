"""Judge the answers: `Answer`s in, `CheckResult`s out. No I/O.

A result's texts may contain the upstream's own words; `check` cleans them.
"""

from collections.abc import Sequence

from chatapp.checks.phrases import duration
from chatapp.checks.results import CheckResult, note, ok, warning
from chatapp.upstream.check.answers import Answer
from chatapp.upstream.check.questions import ToolRecord
from chatapp.upstream.check.timing import Timing
from chatapp.upstream.wire.errors.upstream_error import ErrorKind, UpstreamError
from chatapp.upstream.wire.requests.dialects import AUTO, Dialect, UsageHabit, find_dialect
from chatapp.upstream.wire.requests.estimates import cost_of_tools

_MAX_QUOTED_MODELS = 3
_CHEAP_CLOCK_TOKENS = 150
_OPEN_TO_ANYONE = "It is open to anyone who can reach it. Make sure that only this app can."


def error_text(error: UpstreamError) -> str:
    """Return the upstream's own words with the status."""
    return f"{error.status or ''} {error.message or error.kind}".strip()


def models_result(models: Sequence[str]) -> CheckResult:
    if not models:
        advice = "Enter the names of its models."
        return note("Models", "an empty list", advice)
    more = ", …" if len(models) > _MAX_QUOTED_MODELS else ""
    return ok("Models", f"{len(models)}: {', '.join(models[:_MAX_QUOTED_MODELS])}{more}")


def no_models_result(error: UpstreamError) -> CheckResult:
    advice = "Without a list, enter the names of its models."
    return note("Models", f"no list ({error_text(error)})", advice)


def model_result(requested: str, listed: Sequence[str], answer: Answer) -> CheckResult:
    named = answer.reply.model
    finding = f"asked {requested}" + (
        f", answered by {named}" if named not in ("", requested) else ""
    )
    if listed and requested not in listed:
        return note("Model", finding, "Its list does not have this model.")
    return ok("Model", finding)


def stream_result(answer: Answer) -> CheckResult:
    reply = answer.reply
    if not answer.is_stream:
        advice = "Replies appear all at once. Check whether it can stream."
        return warning("Stream", "one JSON answer, no stream", advice)
    finish = f'finish_reason "{reply.finish_reason}"' if reply.finish_reason else "no finish_reason"
    return ok("Stream", f"ends with {finish} and {'[DONE]' if reply.is_done else 'no [DONE]'}")


def timing_results(answer: Answer) -> list[CheckResult]:
    timing = Timing.of(answer.delta_times)
    first = ok("First token", f"after {duration(timing.first)}")
    if not answer.is_stream:
        return [first]
    median, longest = duration(timing.median_gap), duration(timing.longest_gap)
    gaps = f"median {median}, longest {longest}, of {_format_chunk_count(timing.chunks)}"
    return [first, ok("Gaps", gaps), _buffering_result(timing)]


def _format_chunk_count(chunks: int) -> str:
    return "1 chunk" if chunks == 1 else f"{chunks:,} chunks"


def _buffering_result(timing: Timing) -> CheckResult:
    if not timing.can_tell_buffering:
        finding = f"unclear from {_format_chunk_count(timing.chunks)}"
        return note("Buffering", finding, "Try a model that writes more.")
    if timing.seems_buffered:
        finding = (
            f"{timing.chunks_in_bursts} of {timing.chunks} chunks came in bursts after silence"
        )
        advice = (
            "Something on the way seems to buffer the stream. Turn off buffering (in nginx "
            "proxy_buffering) and compression in each proxy on the way."
        )
        return warning("Buffering", finding, advice)
    return ok("Buffering", "none seen")


def usage_result(habit: UsageHabit, takes_option: bool) -> CheckResult:
    finding = habit.value + ("" if takes_option else "; rejects stream_options, so it is left out")
    if habit is UsageHabit.NEVER:
        return note("Usage", finding, "The app shows estimates, marked as such.")
    return ok("Usage", finding)


def reasoning_result(answer: Answer) -> CheckResult:
    if answer.reasoning_fields:
        return ok("Reasoning", f"in delta.{', delta.'.join(answer.reasoning_fields)}")
    if answer.reply.reasoning:
        return ok("Reasoning", "in think tags inside the content")
    return ok("Reasoning", "none seen")


def tools_result(answer: Answer) -> CheckResult:
    reply = answer.reply
    if reply.error:
        finding = f"rejects a request with tools ({error_text(reply.error)})"
        return note("Tools", finding, "Tools can't be used with this model.")
    if not reply.tool_calls:
        finding = "accepts a request with tools, but did not call the one it needed"
        return note("Tools", finding, "The model may not be able to.")
    call = reply.tool_calls[0]
    if call.parsed is None:
        finding = f"calls {call.name}, with arguments that are not JSON"
        return note("Tools", finding, "The model may need to try again.")
    return ok("Tools", f"calls {call.name}, finish_reason {reply.finish_reason or 'missing'}")


def clock_result(clock: ToolRecord, without: Answer, offered: Answer) -> CheckResult:
    """Measure what it costs to offer the built-in tool in every request."""
    advice = "If that is too much, turn off “offer the clock” in its settings."
    if without.reply.usage and offered.reply.usage:
        before, after = without.reply.usage.prompt_tokens, offered.reply.usage.prompt_tokens
        finding = f"{after - before:,} tokens per request: {after:,} with it, {before:,} without"
        is_cheap = after - before <= _CHEAP_CLOCK_TOKENS
        return ok("Clock", finding) if is_cheap else note("Clock", finding, advice)
    about = cost_of_tools([clock])
    return ok("Clock", f"about {about} tokens per request, estimated from its description")


def wrong_model_result(answer: Answer) -> CheckResult:
    if answer.reply.error:
        return ok("Wrong model", _describe_error(answer))
    advice = "A mistake in a model's name goes unnoticed."
    return note("Wrong model", "answers under any name", advice)


def wrong_key_result(answer: Answer) -> CheckResult:
    error = answer.reply.error
    if error is None:
        return note("Wrong key", "accepts any key", _OPEN_TO_ANYONE)
    if error.kind is not ErrorKind.UNAUTHORIZED:
        advice = "Messages about a wrong key will be unspecific, because the status is not 401."
        return note("Wrong key", _describe_error(answer), advice)
    return ok("Wrong key", _describe_error(answer))


def _describe_error(answer: Answer) -> str:
    error = answer.reply.error
    assert error
    form = f", {answer.error_form}" if answer.error_form else ""
    return f"{error.status or error.kind}{form}: {error.message or 'no message'}"


def closing_result(before: float, after: Answer) -> CheckResult:
    """Judge whether closing a reply frees the upstream.

    `before` is an earlier answer's time to the first token, in seconds; `after` was asked right
    after the close.
    """
    advice = (
        "It may keep writing after a close. Ask its operator whether closing the connection "
        "stops the work; otherwise stopped replies cost as much as complete ones."
    )
    if after.reply.error or not after.has_said_something:
        error = error_text(after.reply.error) if after.reply.error else "no answer"
        return note("Closing", f"a request right after a close: {error}", advice)
    first = after.delta_times[0]
    times = f"{duration(first)} ({duration(before)} before)"
    finding = f"a request right after a close was answered after {times}"
    if first > max(1.0, 4 * before):
        return note("Closing", finding, advice)
    advice = "Its own log or console shows whether the closed reply was cancelled."
    return note("Closing", f"not visible from here; {finding}", advice)


def dialect_result(answer: Answer, habit: UsageHabit, chosen: Dialect) -> CheckResult:
    """Recognise the dialect; `chosen` is the one in the upstream's settings."""
    fitting = find_dialect(answer.marks(habit))
    finding = f"{fitting.name} ({fitting.label})"
    if chosen.always_reports_usage and habit is UsageHabit.OPT_IN:
        advice = f"It is set to {chosen.label}, which never asks for usage. Set it to {AUTO.label}."
        return warning("Dialect", finding, advice)
    return ok("Dialect", finding)


def timeout_result(seconds: float) -> CheckResult:
    advice = "Anything missing here was not checked."
    return note("This check", f"ended after {seconds:g} seconds", advice)
