"""The passage of a message that is shown for a search."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chatapp.models import Message
from chatapp.search.looks import Looks, Segment


@dataclass(frozen=True)
class Passage:
    message: UUID
    segments: list[Segment]
    whose: str
    at: datetime


def passage_of(message: Message, looks: Looks) -> Passage:
    """Of what it says first; of its reasoning where that alone has what was looked for."""
    whose = "You" if message.is_prompt else message.model or "Reply"
    spoken = [text for one in message.rounds for text in (one.content, one.refusal) if text]
    thought = [one.reasoning for one in message.rounds if one.reasoning]
    segments: list[Segment] = []
    for text in (*spoken, *thought):
        tried, is_found = looks.passage(text)
        if is_found:
            told = f"{whose}, reasoning" if text in thought and text not in spoken else whose
            return Passage(message.pk, tried, told, message.created_at)
        segments = segments or tried
    return Passage(message.pk, segments, whose, message.created_at)
