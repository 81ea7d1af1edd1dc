"""Token probabilities for the demo: made up, but deterministic.

A character beyond ASCII is split over two tokens, as real tokenizers do: neither token is valid
text by itself, only their `bytes` joined are.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any
from zlib import crc32

from chatapp.demo.script import Delta, TextDelta

OTHER_WORDS = (" the", " a", " this", " one", " that", " so", " it", " in", " and", " of")


def build_logprobs(deltas: Sequence[Delta], top: int) -> dict[str, Any] | None:
    """Return the `logprobs` of a choice, with the `top` most likely tokens at each position."""
    texts = {
        region: [d.text for d in deltas if isinstance(d, TextDelta) and d.region == region]
        for region in ("answer", "refusal")
    }
    content, refusal = (
        [token_logprob(data, top) for text in texts[region] for data in split_bytes(text)]
        for region in ("answer", "refusal")
    )
    if not content and not refusal:
        return None
    return {"content": content or None, "refusal": refusal or None}


def split_bytes(text: str) -> Iterator[bytes]:
    """Yield the bytes of a token, in two parts if it has a character beyond ASCII."""
    data = text.encode()
    beyond = next((place for place, byte in enumerate(data) if byte > 127), None)
    yield data if beyond is None else data[: beyond + 1]
    if beyond is not None:
        yield data[beyond + 1 :]


def token_logprob(data: bytes, top: int) -> dict[str, Any]:
    chance = crc32(data) / 2**32
    likely = 1 - 0.75 * chance**3  # most tokens are almost certain, a few are not
    others = (word.encode() for word in OTHER_WORDS if word.encode() != data)
    rivals = [(other, (1 - likely) / 2**place) for place, other in enumerate(others, start=1)]
    ranked = sorted([(data, likely), *rivals], key=lambda candidate: -candidate[1])[:top]
    return {**entry(data, likely), "top_logprobs": [entry(*candidate) for candidate in ranked]}


def entry(data: bytes, probability: float) -> dict[str, Any]:
    # OpenAI uses -9999.0 for very unlikely tokens
    logprob = round(math.log(probability), 6) if probability > 1e-9 else -9999.0
    return {"token": format_token(data), "logprob": logprob, "bytes": list(data)}


def format_token(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte < 128 else f"\\x{byte:02x}" for byte in data)
