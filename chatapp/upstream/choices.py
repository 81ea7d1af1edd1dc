"""One choice of a stream: what its chunks say in, events out.

Raises `UpstreamFailed` for what is over a limit; what came before it is in the caller's list.
"""

from dataclasses import dataclass, field

from chatapp.upstream import chunks
from chatapp.upstream.errors import ErrorKind, UpstreamError, UpstreamFailed, clean
from chatapp.upstream.events import Event, Finished, ReasoningDelta, RefusalDelta
from chatapp.upstream.logprobs import logprobs_of, size_of
from chatapp.upstream.think_tags import Splitter
from chatapp.upstream.tool_calls import FragmentReader

MAX_REPLY_CHARACTERS = 8 * 1024 * 1024  # of all texts of one choice, its logprobs' tokens too


@dataclass(slots=True)
class ChoiceDecoder:
    """Decodes one choice."""

    index: int
    has_finished: bool = False
    _size: int = 0
    _content: Splitter = field(init=False)
    _tool_calls: FragmentReader = field(init=False)

    def __post_init__(self) -> None:
        self._content = Splitter(self.index)
        self._tool_calls = FragmentReader(self.index)

    def decode(self, choice: chunks.Choice, events: list[Event]) -> None:
        """Add the events of one chunk's part in this choice."""
        if delta := choice.said():
            self._read_delta(delta, events)
        if choice.logprobs and (logprobs := logprobs_of(choice.logprobs, self.index)):
            self._weigh(size_of(logprobs))
            events.append(logprobs)
        if choice.finish_reason:
            self.has_finished = True
            events += self._content.close()
            events.append(Finished(clean(choice.finish_reason), choice=self.index))

    def close(self) -> list[Event]:
        """Return what was held back."""
        return [*self._content.close()]

    def _read_delta(self, delta: chunks.Delta, events: list[Event]) -> None:
        if reasoning := delta.reasoning_text():
            self._weigh(len(reasoning))
            events += self._content.close()  # the reasoning has its own field: tags are text
            events.append(ReasoningDelta(_without_nul(reasoning), choice=self.index))
        if content := delta.content:
            self._weigh(len(content))
            events += self._content.receive_text(_without_nul(content))
        if refusal := delta.refusal:
            self._weigh(len(refusal))
            events.append(RefusalDelta(_without_nul(refusal), choice=self.index))
        if delta.tool_calls or delta.function_call:
            for fragment in self._tool_calls.read(delta):
                self._weigh(len(fragment.arguments))
                events.append(fragment)

    def _weigh(self, size: int) -> None:
        self._size += size
        if self._size > MAX_REPLY_CHARACTERS:
            message = f"the reply is longer than {MAX_REPLY_CHARACTERS} characters"
            raise UpstreamFailed(UpstreamError(ErrorKind.TOO_LARGE, message))


def _without_nul(text: str) -> str:
    """Replace NUL, which PostgreSQL can't store."""
    return text.replace("\0", "\ufffd") if "\0" in text else text
