"""The app's decoder reads every dialect and restores the scripted reply."""

import itertools
import json
from typing import Any

import pytest

from chatapp.demo.answers import script_for
from chatapp.demo.logprobs import split_bytes
from chatapp.demo.models import MODELS
from chatapp.demo.requests import Message
from chatapp.demo.script import OPENINGS, Script
from chatapp.upstream.wire.decoding.logprobs import build_display_tokens
from chatapp.upstream.wire.errors.upstream_error import ErrorKind
from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.moderation import ModerationFailure, ModerationResults
from chatapp.upstream.wire.reply import Ending
from tests.demo import Client, ask
from tests.support.present import present

WITH_USAGE = {"include_usage": True}
SAMPLE = "show me confidence"


def expected_script(text: str, model: str) -> Script:
    script = script_for([Message("user", text)], reasons=MODELS[model].reasons)
    assert isinstance(script, Script)
    return script


def chunks(client: Client) -> list[Any]:
    return [json.loads(data) for data in client.data if data != "[DONE]"]


@pytest.mark.parametrize("model", MODELS)
async def test_every_model_streams_its_script(model: str) -> None:
    reply = (await ask(SAMPLE, model=model, stream_options=WITH_USAGE)).reply()
    script = expected_script(SAMPLE, model)

    assert reply.ending is Ending.COMPLETE
    assert reply.answer == script.answer
    assert reply.reasoning.strip() == script.reasoning
    assert bool(reply.reasoning) == MODELS[model].reasons
    assert reply.is_done
    assert reply.usage


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("failure", "ending"),
    [
        ("after 200", Ending.FAILED),
        ("cut off", Ending.CUT_OFF),
        ("length", Ending.LENGTH),
        ("content filter", Ending.CONTENT_FILTER),
        ("refusal", Ending.REFUSED),
    ],
)
async def test_every_ending_in_every_dialect(model: str, failure: str, ending: Ending) -> None:
    reply = (await ask(f"fail: {failure}", model=model)).reply()

    assert reply.ending is ending
    assert reply.answer or reply.refusal


@pytest.mark.parametrize(
    ("model", "details"),
    [
        ("demo-plain", {"cached_tokens": 3, "reasoning_tokens": 0}),
        (
            "demo-openai",
            {
                "cached_tokens": 3,
                "reasoning_tokens": 0,
                "prompt_audio_tokens": 0,
                "completion_audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        ),
        ("demo-aivene", {"cached_tokens": 3, "cache_write_tokens": 0}),
        ("demo-aigateway", {}),
    ],
)
async def test_usage_has_the_details_of_its_dialect(model: str, details: dict[str, int]) -> None:
    client = await ask("one two", "three", "hello", model=model, stream_options=WITH_USAGE)
    token_count = len(client.deltas) - (MODELS[model].dialect.opening_delta.get("content") == "")

    assert client.reply().usage == TokenUsage(4, token_count, 4 + token_count, **details)


@pytest.mark.parametrize("model", MODELS)
async def test_without_include_usage_only_some_dialects_report_usage(model: str) -> None:
    without_request = (await ask("hello", model=model)).reply().usage

    assert (without_request is not None) == MODELS[model].dialect.always_reports_usage


async def test_openai_has_a_null_usage_on_every_other_chunk_if_usage_was_requested() -> None:
    *others, last = chunks(await ask("hello", model="demo-openai", stream_options=WITH_USAGE))
    without_request = chunks(await ask("hello", model="demo-openai"))

    assert last["choices"] == []
    assert last["usage"]
    assert all(chunk["usage"] is None for chunk in others)
    assert not any("usage" in chunk for chunk in without_request)
    assert all("logprobs" in chunk["choices"][0] for chunk in others)


async def test_aigateway_is_bare_and_finishes_with_the_last_delta() -> None:
    first, *between, last, usage = chunks(await ask("hello", model="demo-aigateway"))

    assert first.keys() == {"id", "choices"}
    assert first["choices"] == [{"delta": {"role": "assistant"}}]
    assert all(chunk.keys() == {"choices"} for chunk in [*between, last])
    assert all(chunk["choices"][0].keys() == {"delta"} for chunk in between)
    assert last["choices"][0]["delta"]["content"]
    assert last["choices"][0]["finish_reason"] == "stop"
    assert usage.keys() == {"usage"}
    assert usage["usage"].keys() == {"prompt_tokens", "completion_tokens"}


async def test_aivene_has_its_own_id_prefix_and_one_id_per_stream() -> None:
    ids = {chunk["id"] for chunk in chunks(await ask("hello", model="demo-aivene"))}

    assert len(ids) == 1
    assert ids.pop().startswith("ilbs_")


@pytest.mark.parametrize(
    ("model", "type", "code", "is_done"),
    [
        ("demo-plain", "upstream_error", "stream_error", True),
        ("demo-openai", "server_error", "", False),
        ("demo-aivene", "stream_error", "", True),
        ("demo-aigateway", "", "upstream_error", False),
    ],
)
async def test_errors_after_200_are_the_dialects_own(
    model: str, type: str, code: str, is_done: bool
) -> None:
    client = await ask("fail: after 200", model=model)
    error = client.reply().error

    assert error
    assert (error.kind, error.type, error.code) == (ErrorKind.STREAM_ERROR, type, code)
    assert (client.data[-1] == "[DONE]") == is_done


async def test_think_tags_are_split_inside() -> None:
    client = await ask("hello", model="demo-think-tags")
    [first, second, *_] = [delta["content"] for delta in client.deltas]

    assert (first, second) == ("<th", "ink>\n")
    assert "reasoning_content" not in client.body.decode()


@pytest.mark.parametrize("model", [model for model in MODELS if model != "demo-aigateway"])
async def test_every_choice_has_a_different_text(model: str) -> None:
    client = await ask("hello", model=model, n=4, stream_options=WITH_USAGE)
    replies = [client.reply(choice) for choice in range(4)]
    answer = expected_script("hello", model).answer

    assert [reply.answer for reply in replies] == [opening + answer for opening in OPENINGS]
    assert {reply.ending for reply in replies} == {Ending.COMPLETE}
    indexes = [chunk["choices"][0]["index"] for chunk in chunks(client) if chunk["choices"]]
    assert indexes[:8] == [0, 1, 2, 3, 0, 1, 2, 3]


@pytest.mark.parametrize("opening", OPENINGS)
async def test_any_choice_can_be_continued(opening: str) -> None:
    answer = opening + expected_script("hello", "demo-plain").answer
    beginning = answer[:40].rstrip()
    remainder = (await ask("hello", beginning, "Continue.", model="demo-plain")).reply().answer

    assert beginning + remainder == answer


async def test_logprobs_match_the_text_and_characters_are_split_over_tokens() -> None:
    client = await ask(SAMPLE, model="demo-openai", logprobs=True, top_logprobs=3)
    reply = client.reply()
    token_list = build_display_tokens(reply.logprobs)

    assert "".join(token.text for token in token_list) == reply.answer
    assert len(token_list) < len(reply.logprobs)
    assert all(0 < token.probability <= 1 for token in token_list)
    assert all(len(token.top) == 3 for token in reply.logprobs)
    for token in reply.logprobs:
        for likelier, other in itertools.pairwise(token.top):
            assert likelier.logprob >= other.logprob
    again = await ask(SAMPLE, model="demo-openai", logprobs=True, top_logprobs=3)
    assert again.reply().logprobs == reply.logprobs


@pytest.mark.parametrize("model", MODELS)
async def test_logprobs_come_on_request_except_in_a_bare_dialect(model: str) -> None:
    assert not (await ask("hello", model=model)).reply().logprobs
    reply = (await ask("hello", model=model, logprobs=True)).reply()
    assert bool(reply.logprobs) == (model != "demo-aigateway")


async def test_a_refusal_has_logprobs_too() -> None:
    reply = (await ask("refuse", model="demo-openai", logprobs=True)).reply()

    assert "".join(token.token for token in reply.refusal_logprobs) == reply.refusal


@pytest.mark.parametrize("text", ["plain", "é", " 日本", "x🙂y", ""])
def test_joining_the_bytes_of_a_split_character_restores_it(text: str) -> None:
    parts = list(split_bytes(text))

    assert b"".join(parts).decode() == text
    assert len(parts) == (1 if text.isascii() else 2)


async def test_only_openai_sends_a_moderation() -> None:
    moderated = (await ask("moderation", model="demo-openai")).reply().moderation
    others = [model for model in MODELS if model != "demo-openai"]

    assert moderated
    assert isinstance(moderated.input, ModerationResults)
    assert moderated.input.categories == ["violence"]
    assert isinstance(moderated.output, ModerationFailure)
    for model in others:
        assert not (await ask("moderation", model=model)).reply().moderation


@pytest.mark.parametrize(
    ("requested", "served"), [(None, "default"), ("auto", "default"), ("flex", "flex")]
)
async def test_openai_names_the_service_tier(requested: str | None, served: str) -> None:
    reply = (await ask("hello", model="demo-openai", service_tier=requested)).reply()

    assert reply.service_tier == served
    assert reply.system_fingerprint


@pytest.mark.parametrize("model", MODELS)
async def test_a_reply_is_the_same_streamed_or_not(model: str) -> None:
    streamed = (await ask(SAMPLE, model=model, stream_options=WITH_USAGE)).reply()
    whole = (await ask(SAMPLE, model=model, stream=False)).json
    message = whole["choices"][0]["message"]

    if model != "demo-think-tags":
        assert message["content"] == streamed.answer
        assert message.get("reasoning_content", "") == streamed.reasoning
    assert whole["usage"]["completion_tokens"] == present(streamed.usage).completion_tokens
