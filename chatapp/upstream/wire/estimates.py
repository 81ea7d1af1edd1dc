"""What a request cost whose upstream did not say so: its text in, a middle and an upper figure out.

Nobody here has the model's tokenizer, so both come from the bytes of UTF-8:

* middle: four bytes a token, what tiktoken's README gives for it in practice ("each token
  corresponds to about 4 bytes"). It holds for Chinese and Korean too, give or take: a character of
  three bytes makes 0.75 of a token, where their models take 0.6 to 1.3. This is what people see.
* upper: one byte a token. Tokenizers split text down to single bytes and no further (byte-level
  BPE, and SentencePiece with its byte fallback), so no text takes more. Limits hold back this much.

Chat templates put tokens around each message (OpenAI's cookbook, "How to count tokens with
tiktoken": three a message and three for the reply; Llama's and Qwen's take five), and instructions
around tools: see the allowances. In neither figure is what an upstream adds by itself or a model
thinks unseen, nor what it wrote that never arrived.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from chatapp.upstream.wire.events import TokenUsage
from chatapp.upstream.wire.history import NOTHING, History
from chatapp.upstream.wire.reply import Reply

BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Allowances:
    """Tokens that stand in no text."""

    request: int
    message: int
    tools: int  # once, where any are offered
    choice: int  # its end, and the marks around reasoning and answer
    call: int


MIDDLE = Allowances(request=3, message=4, tools=32, choice=1, call=8)
UPPER = Allowances(request=64, message=16, tools=512, choice=32, call=32)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request sent, in numbers."""

    messages: int
    text_bytes: int
    tools: int
    tool_bytes: int

    @classmethod
    def of(cls, history: History, tools: Sequence[Mapping[str, object]] = ()) -> Self:
        tool_bytes = sum(len(_json(tool)) for tool in tools)
        return cls(len(history.messages), history.text_bytes, len(tools), tool_bytes)

    @property
    def upper_tokens(self) -> int:
        return self.tokens(1, UPPER)

    @property
    def upper_tool_tokens(self) -> int:
        """What of these the tools are."""
        return self.tool_bytes + (UPPER.tools if self.tools else 0)

    def tokens(self, bytes_per_token: int, allowances: Allowances) -> int:
        around = allowances.request + allowances.message * self.messages
        around += allowances.tools if self.tools else 0
        return -(-(self.text_bytes + self.tool_bytes) // bytes_per_token) + around


@dataclass(frozen=True, slots=True)
class Estimate:
    """One request's cost, twice."""

    middle: TokenUsage
    upper: TokenUsage


def estimate(asked: Asked, choices: Iterable[Reply] = ()) -> Estimate:
    """Estimate what `asked` and what has arrived of the reply's `choices` cost together."""
    choices = list(choices)
    return Estimate(
        _counted(asked, choices, BYTES_PER_TOKEN, MIDDLE), _counted(asked, choices, 1, UPPER)
    )


def cost_of_tools(tools: Sequence[Mapping[str, object]]) -> int:
    """About how many tokens offering `tools` adds to a request."""
    with_tools, without = Asked.of(NOTHING, tools), Asked.of(NOTHING)
    return with_tools.tokens(BYTES_PER_TOKEN, MIDDLE) - without.tokens(BYTES_PER_TOKEN, MIDDLE)


def _counted(
    asked: Asked, choices: list[Reply], bytes_per_token: int, allowances: Allowances
) -> TokenUsage:
    prompt = asked.tokens(bytes_per_token, allowances)
    reasoning = completion = 0
    for choice in choices:
        thought = -(-_bytes_of(choice.reasoning_parts) // bytes_per_token)
        said = -(-_bytes_said(choice) // bytes_per_token)
        if thought or said or choice.tool_call_parts:
            said += allowances.choice + allowances.call * len(choice.tool_call_parts)
        reasoning += thought
        completion += thought + said
    return TokenUsage(prompt, completion, prompt + completion, reasoning_tokens=reasoning)


def _bytes_said(choice: Reply) -> int:
    calls = choice.tool_call_parts.values()
    called = [text for call in calls for text in (call.name, call.id, *call.arguments)]
    return _bytes_of(choice.answer_parts) + _bytes_of(choice.refusal_parts) + _bytes_of(called)


def _bytes_of(texts: Iterable[str]) -> int:
    return len("".join(texts).encode(errors="replace"))


def _json(tool: Mapping[str, object]) -> bytes:
    return json.dumps(tool, ensure_ascii=False).encode(errors="replace")
