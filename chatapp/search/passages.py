"""Chooses the passage of a message to show in search results."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chatapp.models import Message
from chatapp.search.plain_text import plain_text
from chatapp.search.spelling_patterns import LOOKED_THROUGH, Segment, SpellingPatterns


@dataclass(frozen=True)
class Passage:
    message: UUID
    segments: list[Segment]
    whose: str
    at: datetime


def passage_of(message: Message, looks: SpellingPatterns) -> Passage:
    """Return the passage with the match: from the message's text, or else from its reasoning."""
    whose = "You" if message.is_prompt else message.model or "Reply"
    texts = [text for one in message.rounds for text in (one.content, one.refusal) if text]
    reasoning = [one.reasoning for one in message.rounds if one.reasoning]
    segments: list[Segment] = []
    for text in (*texts, *reasoning):
        passage, is_found = looks.passage(plain_text(text[:LOOKED_THROUGH]))
        if is_found:
            source = f"{whose}, reasoning" if text in reasoning and text not in texts else whose
            return Passage(message.pk, passage, source, message.created_at)
        segments = segments or passage
    return Passage(message.pk, segments, whose, message.created_at)
