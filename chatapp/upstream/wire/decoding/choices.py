"""Decode one choice of a stream: its part of each chunk in, events out.

Raises `UpstreamFailed` if a limit is exceeded; the events before are in the caller's list by then.
Unreadable pieces are left out and named in `left_out`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from chatapp.upstream.wire import finish_reasons
from chatapp.upstream.wire.decoding import chunks
from chatapp.upstream.wire.decoding.logprobs import count_characters, read_logprobs
from chatapp.upstream.wire.decoding.opaque import OpaqueReader
from chatapp.upstream.wire.decoding.repeats import RepeatFilter
from chatapp.upstream.wire.decoding.surrogates import SurrogateJoiner
from chatapp.upstream.wire.decoding.text_calls import Markup, TextCall, TextCalls
from chatapp.upstream.wire.decoding.text_images import ImageText, TextImages
from chatapp.upstream.wire.decoding.think_tags import ContentEvent, Splitter
from chatapp.upstream.wire.decoding.tool_calls import FragmentReader
from chatapp.upstream.wire.errors.upstream_error import (
    ErrorKind,
    UpstreamError,
    UpstreamFailed,
    clean,
    error_of_frame,
    says_something,
)
from chatapp.upstream.wire.events import (
    AnswerDelta,
    ChoiceFailed,
    Event,
    Finished,
    ImageReceived,
    OpaqueReceived,
    ReasoningDelta,
    ReasoningFieldSeen,
    RefusalDelta,
    SoundReceived,
    SourcesCited,
)
from chatapp.upstream.wire.finish_reasons import NONE
from chatapp.upstream.wire.images import MAX_IMAGES, MAX_IMAGES_BYTES, decode_image, urls_in
from chatapp.upstream.wire.sources import SourceReader

UNKNOWN_TOOL = "unknown"
CHANCE_REPEAT_LENGTH = 24  # characters that may repeat all before them by chance
CHANCE_REPEAT_LENGTH_IN_DETAIL = 4  # the same for a numbered detail of the reasoning
MAX_REPLY_CHARACTERS = 8 * 1024 * 1024  # in all texts of one choice, including logprobs' tokens


@dataclass(slots=True)
class ChoiceDecoder:
    """Decodes one choice. `secret` is removed from its error messages."""

    index: int
    secret: str = field(default="", repr=False)
    tools: Collection[str] = ()  # the names of those that the model may call
    has_finished: bool = False
    left_out: list[str] = field(default_factory=list)  # the caller clears it
    _last_finish: Finished | None = None
    _holds_finish: bool = False  # until the stream's end, because more came after a finish
    _has_content: bool = False
    _reasoning_field: str = ""
    _is_twice: bool = False  # reasoning has its own field, and is in the content, too
    _flagged_deltas: int = 0  # deltas of content that a flag marks as reasoning
    _has_sound: bool = False
    _size: int = 0
    _images: int = 0
    _images_size: int = 0
    _content: Splitter = field(init=False)
    _tool_calls: FragmentReader = field(init=False)
    _answer_text: SurrogateJoiner = field(default_factory=SurrogateJoiner)
    _reasoning_text: SurrogateJoiner = field(default_factory=SurrogateJoiner)
    _refusal_text: SurrogateJoiner = field(default_factory=SurrogateJoiner)
    _text_calls: TextCalls = field(default_factory=TextCalls)
    _unread_call: str = ""  # the tool of a call that stayed text
    _text_images: TextImages = field(default_factory=TextImages)
    _reasoning: RepeatFilter = field(default_factory=lambda: RepeatFilter(CHANCE_REPEAT_LENGTH))
    _answer: RepeatFilter = field(default_factory=lambda: RepeatFilter(CHANCE_REPEAT_LENGTH))
    _opaque: OpaqueReader = field(default_factory=OpaqueReader)
    _sources: SourceReader = field(default_factory=SourceReader)

    def __post_init__(self) -> None:
        self._content = Splitter(self.index)
        self._tool_calls = FragmentReader(self.index)

    def decode(self, choice: chunks.Choice, events: list[Event]) -> None:
        """Append the events of this choice's part of a chunk to `events`."""
        if choice.delta:
            self._read_delta(choice.delta, events)
        elif choice.message and not self._has_content:  # otherwise it repeats the deltas
            self._read_delta(choice.message, events)
        if choice.logprobs and (logprobs := read_logprobs(choice.logprobs, self.index)):
            self._count_size(count_characters(logprobs))
            events.append(logprobs)
        if choice.error and says_something(choice.error):
            self.has_finished = True
            error = error_of_frame(choice.error, self.secret)
            events += [*self._flush_texts(), ChoiceFailed(error, choice=self.index)]
        if (
            choice.any_finish_reason
            and finish_reasons.normalise(choice.any_finish_reason) not in NONE
        ):
            self._finish(choice, events)

    def close(self, was_cut: bool = False) -> list[Event]:
        """Return what was held back, including a finish unless the stream `was_cut`."""
        events: list[Event] = [*self._flush_texts(), *self._opaque_events()]
        if self._holds_finish and self._last_finish and not was_cut:
            events.append(self._last_finish)
            self.has_finished = True
            self._holds_finish = False
        return events

    def _finish(self, choice: chunks.Choice, events: list[Event]) -> None:
        native = choice.native_finish_reason
        finished = Finished(
            clean(choice.any_finish_reason),
            clean(native) if isinstance(native, str) else "",
            choice=self.index,
        )
        self._last_finish = finished
        if self._holds_finish:
            return
        self.has_finished = True
        events += [*self._flush_texts(), *self._opaque_events(), finished]
        if self._unread_call:
            error = UpstreamError(ErrorKind.UNREAD_CALL, code=clean(self._unread_call))
            events.append(ChoiceFailed(error, choice=self.index))

    def _read_delta(self, delta: chunks.Delta, events: list[Event]) -> None:
        before = len(events)
        if reasoning := delta.all_reasoning():
            self._is_twice = self._is_twice or self._repeats(reasoning, delta.content)
            self._note_reasoning_field(delta.reasoning_field, events)
            if delta.has_numbered_details:
                self._reasoning.least = CHANCE_REPEAT_LENGTH_IN_DETAIL
            self._add_reasoning(reasoning, events)
        if content := delta.content:
            if isinstance(content, str):
                if delta.extra_content or self._flagged_deltas:
                    self._add_flagged(content, delta.is_thought, events)
                else:
                    self._add_answer(content, events)
            else:
                self._read_parts(content, events)
        if refusal := delta.refusal:
            self._count_size(len(refusal))
            if refusal := self._refusal_text.receive_text(refusal):
                events.append(RefusalDelta(_without_nul(refusal), choice=self.index))
        if delta.tool_calls or delta.function_call or delta.camel_tool_calls:
            for fragment in self._tool_calls.read(delta, self.left_out):
                self._count_size(len(fragment.arguments))
                events.append(fragment)
        if delta.has_opaque:
            self._opaque.read(delta.opaque_fields(), self.left_out)
        if delta.images:
            self._read_images(delta.images, events)
        if delta.audio:
            self._read_audio(delta.audio, events)
        if len(events) > before:
            self._has_content = True
            if self.has_finished:
                self._revoke_finish(events, before)
        if delta.annotations:
            self._add_sources(delta.annotations, events)

    def _flush_texts(self) -> list[Event]:
        """Return the text that was held back."""
        events: list[Event] = []
        self._add_pieces(self._text_images.close(), events)
        if text := self._reasoning.close() + self._reasoning_text.close():
            events.append(ReasoningDelta(_without_nul(text), choice=self.index))
        if text := self._answer.close() + self._answer_text.close():
            self._add_content(self._content.receive_text(_without_nul(text)), events)
        if text := self._refusal_text.close():
            events.append(RefusalDelta(text, choice=self.index))
        self._add_content(self._content.close(), events)
        self._add_markup_pieces(self._text_calls.close(), events)
        return events

    def _opaque_events(self) -> list[Event]:
        """Return new opaque fields if there are tool calls; they are needed only with those."""
        if not (self._tool_calls.has_any and self._opaque.has_more):
            return []
        return [OpaqueReceived(self._opaque.build_message_fields(), choice=self.index)]

    def _revoke_finish(self, events: list[Event], position: int) -> None:
        """Revoke a finish that more content follows, and hold the last one until the end.

        Some upstreams send a finish_reason in every chunk.
        """
        self.has_finished = False
        self._holds_finish = True
        events.insert(position, Finished("", choice=self.index))

    def _note_reasoning_field(self, name: str, events: list[Event]) -> None:
        if name and not self._reasoning_field:
            self._reasoning_field = name
            events.append(ReasoningFieldSeen(name, choice=self.index))

    def _repeats(self, reasoning: str, content: object) -> bool:
        """Return whether the content of a delta is its reasoning once more, in think tags."""
        if not isinstance(content, str) or reasoning.strip() not in content:
            return False
        return self._content.is_in_tags or self._content.begins_tags(content)

    def _add_reasoning(self, text: str, events: list[Event]) -> None:
        self._count_size(len(text))
        if not self._is_twice:
            self._add_content(self._content.flush_for_reasoning_field(), events)
        text = self._reasoning_text.receive_text(text)
        if text := self._reasoning.filter_new_text(text):
            events.append(ReasoningDelta(_without_nul(text), choice=self.index))

    def _add_flagged(self, text: str, is_thought: bool, events: list[Event]) -> None:
        """Add content that a flag may mark as reasoning; it may have tags as well.

        If only the first delta has the flag, the tags count.
        """
        self._flagged_deltas += is_thought
        is_tagged = self._content.is_in_tags or self._content.begins_tags(text)
        if is_thought and not is_tagged:
            self._add_reasoning(text, events)
            return
        if not is_thought and self._flagged_deltas > 1 and self._content.is_in_tags:
            if not self._content.may_close_with(text):
                self._add_content(self._content.close(), events)
            self._flagged_deltas = 1
        self._add_answer(text, events)

    def _add_answer(self, text: str, events: list[Event]) -> None:
        if self._text_images.is_holding or "!" in text:
            self._add_pieces(self._text_images.receive_text(text), events)
        else:
            self._add_text(text, events)

    def _add_pieces(self, pieces: Iterable[str | ImageText], events: list[Event]) -> None:
        for piece in pieces:
            if isinstance(piece, ImageText):
                self._read_images(piece.url, events)
            else:
                self._add_text(piece, events)

    def _add_text(self, text: str, events: list[Event]) -> None:
        self._count_size(len(text))
        text = self._answer_text.receive_text(text)
        if not (text := self._answer.filter_new_text(text)):
            return
        if not self._is_twice and (held_reasoning := self._reasoning.close()):
            events.append(ReasoningDelta(_without_nul(held_reasoning), choice=self.index))
        self._add_content(self._content.receive_text(_without_nul(text)), events)

    def _add_content(self, content_events: Iterable[ContentEvent], events: list[Event]) -> None:
        """Add what the content holds, with the calls that are written in it."""
        for event in content_events:
            if isinstance(event, AnswerDelta) and not self._text_calls.passes(event.text):
                self._add_markup_pieces(self._text_calls.receive_text(event.text), events)
            elif isinstance(event, TextCall):
                self._add_calls(Markup(event.arguments, (event,)), ReasoningDelta, events)
            elif not (self._is_twice and isinstance(event, ReasoningDelta)):
                events.append(event)

    def _add_markup_pieces(self, pieces: Iterable[str | Markup], events: list[Event]) -> None:
        for piece in pieces:
            if isinstance(piece, Markup):
                self._add_calls(piece, AnswerDelta, events)
            elif piece:
                events.append(AnswerDelta(piece, choice=self.index))

    def _add_calls(
        self,
        markup: Markup,
        region: type[AnswerDelta] | type[ReasoningDelta],
        events: list[Event],
    ) -> None:
        """Add the calls that a server did not read; without such tools, they stay text."""
        if markup.calls and all(call.name in self.tools for call in markup.calls):
            for call in markup.calls:
                function = chunks.FunctionPart(call.name, call.arguments)
                part = chunks.ToolCallPart(function=function)
                events += self._tool_calls.read(chunks.Delta(tool_calls=[part]), self.left_out)
            return
        events.append(region(markup.text, choice=self.index))
        self._unread_call = markup.calls[0].name if markup.calls else UNKNOWN_TOOL

    def _read_parts(self, parts: list[Any], events: list[Event]) -> None:
        """Read content that is a list of typed parts and strings, as Mistral sends it."""
        for part in parts:
            match part:
                case str(text) | {"text": str(text)}:
                    if text:
                        self._add_answer(text, events)
                case {"thinking": thinking} | {"reasoning": thinking}:
                    self._add_reasoning(chunks.find_text(thinking) or "", events)
                case {"image_url": _}:
                    self._read_images([part], events)
                case {"type": str(kind)}:
                    self.left_out.append(f"content of type {clean(kind)}")
                case _:
                    self.left_out.append("content")

    def _read_images(self, images: object, events: list[Event]) -> None:
        for url in urls_in(images):
            image = decode_image(url) if self._images < MAX_IMAGES else None
            if image is None or self._images_size + len(image.data) > MAX_IMAGES_BYTES:
                self.left_out.append("image")
                continue
            self._images += 1
            self._images_size += len(image.data)
            events.append(ImageReceived(image, choice=self.index))

    def _read_audio(self, audio: object, events: list[Event]) -> None:
        if not isinstance(audio, dict):
            self.left_out.append("audio")
            return
        transcript = audio.get("transcript")
        if isinstance(transcript, str) and transcript:
            self._add_answer(transcript, events)
        if audio.get("data") and not self._has_sound:
            self._has_sound = True
            events.append(SoundReceived(choice=self.index))

    def _add_sources(self, annotations: object, events: list[Event]) -> None:
        if sources := self._sources.read(annotations, self.left_out):
            events.append(SourcesCited(tuple(sources), self.index))

    def _count_size(self, size: int) -> None:
        self._size += size
        if self._size > MAX_REPLY_CHARACTERS:
            message = f"the reply is longer than {MAX_REPLY_CHARACTERS} characters"
            raise UpstreamFailed(UpstreamError(ErrorKind.TOO_LARGE, message))


def _without_nul(text: str) -> str:
    """Replace NUL, which PostgreSQL can't store."""
    return text.replace("\0", "\ufffd") if "\0" in text else text
