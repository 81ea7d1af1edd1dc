"""Chooses the passage of a message to show in search results."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chatapp.models import Message
from chatapp.models.search.file_texts import file_texts
from chatapp.search.plain_text import plain_text
from chatapp.search.spelling_patterns import MAX_SEARCHED, Segment, SpellingPatterns


@dataclass(frozen=True)
class Passage:
    message: UUID
    segments: list[Segment]
    whose: str
    at: datetime


def find_passage(message: Message, looks: SpellingPatterns) -> Passage:
    """Return the passage with the match: from the text, or else the reasoning or a file."""
    first: list[Segment] = []
    for text, source in _iterate_texts(message):
        passage, is_found = looks.passage(text)
        if is_found:
            return Passage(message.pk, passage, source, message.created_at)
        first = first or passage
    return Passage(message.pk, first, _author(message), message.created_at)


def _author(message: Message) -> str:
    return "You" if message.is_prompt else message.model or "Reply"


def _iterate_texts(message: Message) -> Iterator[tuple[str, str]]:
    """Yield texts in which a match may be, each with the words that say where it is from."""
    author = _author(message)
    for reply_round in message.rounds:
        for text in filter(None, (reply_round.content, reply_round.refusal)):
            yield plain_text(text[:MAX_SEARCHED]), author
    for reply_round in filter(lambda reply_round: reply_round.reasoning, message.rounds):
        yield plain_text(reply_round.reasoning[:MAX_SEARCHED]), f"{author}, reasoning"
    files = file_texts([message.pk]).get(message.pk, []) if message.file_count else []
    for name, text in files:
        yield name, f"{author}, file"
        for start in range(0, len(text), MAX_SEARCHED):
            yield text[start : start + MAX_SEARCHED], f"{author}, file {name}"
