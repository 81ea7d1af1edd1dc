"""The answers of the scripted upstream, as lists of tokens, and the prompts that order them.

A prompt is the JSON of an `Order`, so the upstream knows from the prompt alone what to send.
"""

import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal, Self

STAMP = b"@"  # placeholder in a token for the time at which it is written
STAMP_DIGITS = 12  # microseconds of the monotonic clock, which all processes share

# Models tokenize like this: a space belongs to the word that follows it.
_PROSE = [*[" @"] * 8, " **@**", *[" @"] * 8, " `@`", " @,"]
_LIST = ["- @", " @", " **@**", " @", " @\n"]
_CODE = ["    @ =", " @(", "@,", " @)\n"]
_STAMPED = ["@", *(_PROSE * 2), " @.\n\n", *(_LIST * 5), "\n@:\n\n", "```python\n@ = 1\n"]
_STAMPED += [*(_CODE * 6), "```\n\n@\n\n"]

_MIXED = """\
Packets cross a network one by one, and **none of them** knows of the others. What keeps a stream
in order is the number that each carries: the receiver counts, asks again for what is missing, and
hands on only what is whole. See `recv()` for the details, or the *manual* that came with it.

- The sender keeps what has not been acknowledged, and sends it again after a while.
- A window says **how much** may be under way; it opens slowly and closes fast.
- Nothing is ever lost silently: `errno` tells, and so does the log.

```python
def receive(connection, size=4096):
    parts = []
    while data := connection.recv(size):
        parts.append(data)
    return b"".join(parts)
```

Three things follow from this, and each can be seen with `ss -ti` on a machine under load:

1. A lost packet delays all that come after it.
2. Many small writes cost more than *one* large write.
3. The slowest link sets the pace for the rest.

"""


Answer = Literal["stamped", "mixed"]


@dataclass(frozen=True)
class Order:
    """Orders `tokens` tokens at `pace` per second; `number` identifies the request."""

    number: int
    tokens: int
    pace: float = 50.0
    answer: Answer = "stamped"

    @classmethod
    def from_prompt(cls, prompt: str | list[dict[str, str]]) -> Self:
        """Read the order in a prompt, or in the last part of one with files."""
        return cls(**json.loads(prompt if isinstance(prompt, str) else prompt[-1]["text"]))

    def prompt(self) -> str:
        return json.dumps(asdict(self))

    def texts(self) -> Iterator[str]:
        """Iterate over the tokens' texts; in stamped ones `STAMP` is yet to be replaced."""
        texts = itertools.cycle(_STAMPED) if self.answer == "stamped" else _five_byte_tokens()
        return itertools.islice(texts, self.tokens)


def _five_byte_tokens() -> Iterator[str]:
    endless = itertools.chain.from_iterable(itertools.repeat(_MIXED))
    while True:
        yield "".join(itertools.islice(endless, 5))
