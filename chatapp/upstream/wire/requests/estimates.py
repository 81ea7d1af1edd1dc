"""Estimate the tokens of a request if the upstream reports no usage: a middle and an upper figure.

The model's tokenizer is not known here, so both are computed from the number of UTF-8 bytes:

* middle: four bytes per token, as tiktoken's README says ("each token corresponds to about 4
  bytes"). It roughly fits Chinese and Korean, too: a character of three bytes makes 0.75 of a
  token, and models for those languages use 0.6 to 1.3. People see this figure.
* upper: one byte per token. Tokenizers split text into single bytes at most (byte-level BPE, and
  SentencePiece with its byte fallback), so no text needs more. Limits reserve this much.

Chat templates put tokens around each message (OpenAI's cookbook, "How to count tokens with
tiktoken": three per message and three for the reply; Llama's and Qwen's use five), and instructions
around tools: see the allowances. Neither figure includes what the upstream adds itself, hidden
reasoning, or text that was written but never arrived.

Images are counted by their size in pixels, see `image_tokens`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.reply import Reply
from chatapp.upstream.wire.requests.history import EMPTY_HISTORY, History
from chatapp.upstream.wire.requests.image_tokens import image_tokens

BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Allowances:
    """Tokens that are not part of any text."""

    request: int
    message: int
    tools: int  # once, if any are offered
    choice: int  # its end token, and the marks around reasoning and answer
    call: int


MIDDLE = Allowances(request=3, message=4, tools=32, choice=1, call=8)
UPPER = Allowances(request=64, message=16, tools=512, choice=32, call=32)


@dataclass(frozen=True, slots=True)
class PromptSize:
    """The size of a request's prompt."""

    messages: int
    text_bytes: int
    tools: int
    tool_bytes: int
    image_tokens: int = 0
    upper_image_tokens: int = 0

    @classmethod
    def of(
        cls,
        history: History,
        tools: Sequence[Mapping[str, object]] = (),
        image_side: int | None = None,
    ) -> Self:
        """Return the size of a request whose images are scaled to `image_side` pixels."""
        tool_bytes = sum(len(_json(tool)) for tool in tools)
        images = [image_tokens(image.width, image.height, image_side) for image in history.images]
        return cls(
            len(history.messages),
            history.text_bytes,
            len(tools),
            tool_bytes,
            sum(tokens.middle for tokens in images),
            sum(tokens.upper for tokens in images),
        )

    @property
    def upper_tokens(self) -> int:
        return self.tokens(1, UPPER)

    @property
    def upper_tool_tokens(self) -> int:
        """The share of the tools in `upper_tokens`."""
        return self.tool_bytes + (UPPER.tools if self.tools else 0)

    def tokens(self, bytes_per_token: int, allowances: Allowances) -> int:
        around = allowances.request + allowances.message * self.messages
        around += allowances.tools if self.tools else 0
        around += self.upper_image_tokens if allowances is UPPER else self.image_tokens
        return -(-(self.text_bytes + self.tool_bytes) // bytes_per_token) + around


@dataclass(frozen=True, slots=True)
class Estimate:
    """A request's estimated usage: the middle and the upper figure."""

    middle: TokenUsage
    upper: TokenUsage


def estimate(prompt: PromptSize, choices: Iterable[Reply] = ()) -> Estimate:
    """Estimate the usage of the prompt and the parts of `choices` that arrived."""
    choices = list(choices)
    return Estimate(
        _estimate_usage(prompt, choices, BYTES_PER_TOKEN, MIDDLE),
        _estimate_usage(prompt, choices, 1, UPPER),
    )


def cost_of_tools(tools: Sequence[Mapping[str, object]]) -> int:
    """Return roughly how many tokens offering `tools` adds to a request."""
    with_tools, without = PromptSize.of(EMPTY_HISTORY, tools), PromptSize.of(EMPTY_HISTORY)
    return with_tools.tokens(BYTES_PER_TOKEN, MIDDLE) - without.tokens(BYTES_PER_TOKEN, MIDDLE)


def _estimate_usage(
    prompt: PromptSize, choices: list[Reply], bytes_per_token: int, allowances: Allowances
) -> TokenUsage:
    sent = prompt.tokens(bytes_per_token, allowances)
    reasoning = completion = 0
    for choice in choices:
        reasoned = -(-_count_bytes(choice.reasoning_parts) // bytes_per_token)
        answered = -(-_answer_bytes(choice) // bytes_per_token)
        if reasoned or answered or choice.tool_call_parts:
            answered += allowances.choice + allowances.call * len(choice.tool_call_parts)
        reasoning += reasoned
        completion += reasoned + answered
    return TokenUsage(sent, completion, sent + completion, reasoning_tokens=reasoning)


def _answer_bytes(choice: Reply) -> int:
    calls = choice.tool_call_parts.values()
    called = [text for call in calls for text in (call.name, call.id, *call.arguments)]
    return (
        _count_bytes(choice.answer_parts)
        + _count_bytes(choice.refusal_parts)
        + _count_bytes(called)
    )


def _count_bytes(texts: Iterable[str]) -> int:
    return len("".join(texts).encode(errors="replace"))


def _json(tool: Mapping[str, object]) -> bytes:
    return json.dumps(tool, ensure_ascii=False).encode(errors="replace")
