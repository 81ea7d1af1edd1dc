"""What a report says of the answers: `Answer`s in, `Row`s out. Pure.

A row's texts may hold what the upstream said; whoever puts it into a report makes it visible.
"""

from collections.abc import Sequence
from enum import Enum

from chatapp.upstream.dialects import AIGATEWAY, AIVENE, AUTO, OPENAI, OPENTOKEN, Dialect
from chatapp.upstream.errors import ErrorKind, UpstreamError
from chatapp.upstream.estimates import cost_of_tools
from chatapp.upstream_check.answers import Answer, UsageChunk
from chatapp.upstream_check.questions import HELLO_WITH_CLOCK
from chatapp.upstream_check.report import Row, Verdict
from chatapp.upstream_check.timing import Timing

_SHOWN_MODELS = 3
_CHEAP_CLOCK_TOKENS = 150
_TAKES_ANYONE = "It is open to whoever reaches it; see that only this app does."


class UsageHabit(Enum):
    """When an upstream reports usage."""

    ALWAYS = "in every stream, asked for or not"
    OPT_IN = "when asked for (stream_options)"
    NEVER = "never"


def error_text(error: UpstreamError) -> str:
    """The upstream's own words with their status."""
    return f"{error.status or ''} {error.message or error.kind}".strip()


def duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def models_row(models: Sequence[str]) -> Row:
    if not models:
        advice = "Name its models in the upstream's settings."
        return Row("Models", "an empty list", Verdict.NOTE, advice)
    more = ", …" if len(models) > _SHOWN_MODELS else ""
    return Row("Models", f"{len(models)}: {', '.join(models[:_SHOWN_MODELS])}{more}")


def no_models_row(error: UpstreamError, gives_up: bool) -> Row:
    found = f"no list ({error_text(error)})"
    if gives_up:
        return Row("Models", found, Verdict.PROBLEM)
    advice = "Without a list, name its models in the upstream's settings."
    return Row("Models", found, Verdict.NOTE, advice)


def model_row(asked: str, listed: Sequence[str], answer: Answer) -> Row:
    named = answer.reply.model
    found = f"asked {asked}" + (f", answered by {named}" if named not in ("", asked) else "")
    if listed and asked not in listed:
        return Row("Model", found, Verdict.NOTE, "Its list does not have this model.")
    return Row("Model", found)


def stream_row(answer: Answer) -> Row:
    reply = answer.reply
    if not answer.is_stream:
        advice = "Replies appear all at once. See whether it can stream."
        return Row("Stream", "one JSON answer, no stream", Verdict.PROBLEM, advice)
    finish = f'finish_reason "{reply.finish_reason}"' if reply.finish_reason else "no finish_reason"
    return Row("Stream", f"ends with {finish} and {'[DONE]' if reply.is_done else 'no [DONE]'}")


def timing_rows(answer: Answer) -> list[Row]:
    timing = Timing.of(answer.delta_times)
    first = Row("First token", f"after {duration(timing.first)}")
    if not answer.is_stream:
        return [first]
    median, longest = duration(timing.median_gap), duration(timing.longest_gap)
    gaps = f"median {median}, longest {longest}, of {timing.chunks} chunks"
    return [first, Row("Gaps", gaps), _buffering_row(timing)]


def _buffering_row(timing: Timing) -> Row:
    if not timing.can_tell_buffering:
        found = f"can't be told from {timing.chunks} chunks"
        return Row("Buffering", found, Verdict.NOTE, "Ask a model that says more.")
    if timing.seems_buffered:
        found = f"{timing.chunks_in_bursts} of {timing.chunks} chunks came in bursts after silence"
        advice = (
            "Something on the way seems to hold the stream back. Turn off buffering (in nginx "
            "proxy_buffering) and compression in each proxy on the way."
        )
        return Row("Buffering", found, Verdict.PROBLEM, advice)
    return Row("Buffering", "none seen")


def usage_row(habit: UsageHabit, takes_option: bool) -> Row:
    found = habit.value + ("" if takes_option else "; refuses stream_options, so it is left out")
    if habit is UsageHabit.NEVER:
        return Row("Usage", found, Verdict.NOTE, "The app estimates it, and says so.")
    return Row("Usage", found)


def reasoning_row(answer: Answer) -> Row:
    if answer.reasoning_fields:
        return Row("Reasoning", f"in delta.{', delta.'.join(answer.reasoning_fields)}")
    if answer.reply.reasoning:
        return Row("Reasoning", "in think tags inside the content")
    return Row("Reasoning", "none seen")


def tools_row(answer: Answer) -> Row:
    reply = answer.reply
    if reply.error:
        found = f"refuses a request with tools ({error_text(reply.error)})"
        return Row("Tools", found, Verdict.NOTE, "Tools can't be used with this model.")
    if not reply.tool_calls:
        found = "takes a request with tools, but did not call the one it needed"
        return Row("Tools", found, Verdict.NOTE, "The model may not be able to.")
    call = reply.tool_calls[0]
    if call.parsed is None:
        found = f"calls {call.name}, with arguments that are no JSON"
        return Row("Tools", found, Verdict.NOTE, "The model may need to try again.")
    return Row("Tools", f"calls {call.name}, finish_reason {reply.finish_reason or 'missing'}")


def clock_row(without: Answer, offered: Answer) -> Row:
    """What the built-in tool costs that goes along with every request."""
    advice = "Where that is too much, turn off “offer the clock” in the upstream's settings."
    if without.reply.usage and offered.reply.usage:
        before, after = without.reply.usage.prompt_tokens, offered.reply.usage.prompt_tokens
        found = f"{after - before:,} tokens a request: {after:,} with it, {before:,} without"
        is_cheap = after - before <= _CHEAP_CLOCK_TOKENS
        return Row("Clock", found) if is_cheap else Row("Clock", found, Verdict.NOTE, advice)
    about = cost_of_tools(HELLO_WITH_CLOCK.tools)
    return Row("Clock", f"about {about} tokens a request, estimated from its description")


def wrong_model_row(answer: Answer) -> Row:
    if answer.reply.error:
        return Row("Wrong model", _error_found(answer))
    advice = "A mistake in a model's name goes unnoticed."
    return Row("Wrong model", "answers under any name", Verdict.NOTE, advice)


def wrong_key_row(answer: Answer) -> Row:
    error = answer.reply.error
    if error is None:
        return Row("Wrong key", "takes any key", Verdict.NOTE, _TAKES_ANYONE)
    if error.kind is not ErrorKind.UNAUTHORIZED:
        advice = "People are not told that the key is wrong, since the status is not 401."
        return Row("Wrong key", _error_found(answer), Verdict.NOTE, advice)
    return Row("Wrong key", _error_found(answer))


def _error_found(answer: Answer) -> str:
    error = answer.reply.error
    assert error
    form = f", {answer.error_form}" if answer.error_form else ""
    return f"{error.status or error.kind}{form}: {error.message or 'no message'}"


def closing_row(before: float, after: Answer) -> Row:
    """`before` is an earlier answer's first token, in seconds; `after` was asked at the close."""
    advice = (
        "It may go on writing for nobody after a close. Ask whoever runs it whether a closed "
        "connection ends the work; otherwise stopped replies cost as much as whole ones."
    )
    if after.reply.error or not after.has_said_something:
        said = error_text(after.reply.error) if after.reply.error else "no answer"
        return Row("Closing", f"a request right after a close: {said}", Verdict.NOTE, advice)
    first = after.delta_times[0]
    times = f"{duration(first)} ({duration(before)} before)"
    found = f"a request right after a close was answered after {times}"
    if first > max(1.0, 4 * before):
        return Row("Closing", found, Verdict.NOTE, advice)
    advice = "Its own log or console shows whether the closed reply was cancelled."
    return Row("Closing", f"can't be seen from here; {found}", Verdict.NOTE, advice)


def dialect_row(answer: Answer, habit: UsageHabit, chosen: Dialect) -> Row:
    """`chosen` is the dialect in the upstream's settings."""
    fitting = fitting_dialect(answer, habit)
    found = f"{fitting.name} ({fitting.label})"
    if chosen.always_reports_usage and habit is UsageHabit.OPT_IN:
        advice = f"It is set to {chosen.label}, which never asks for usage. Set it to {AUTO.label}."
        return Row("Dialect", found, Verdict.PROBLEM, advice)
    return Row("Dialect", found)


def fitting_dialect(answer: Answer, habit: UsageHabit) -> Dialect:
    """The dialect with whose marks the stream came; `auto` where it has none of them."""
    match habit, answer.usage_chunk:
        case UsageHabit.ALWAYS, UsageChunk.WITHOUT_CHOICES:
            return AIGATEWAY
        case UsageHabit.ALWAYS, UsageChunk.EMPTY_CHOICES:
            return OPENTOKEN
        case UsageHabit.OPT_IN, UsageChunk.EMPTY_CHOICES if answer.has_null_usage:
            return OPENAI
        case UsageHabit.OPT_IN, _ if answer.reply.response_id.startswith("ilbs_"):
            return AIVENE
    return AUTO
