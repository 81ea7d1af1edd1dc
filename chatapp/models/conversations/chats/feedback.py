"""Ratings that people give to replies, with an optional note."""

from typing import Self

from django.db import models
from django.db.models.functions import Greatest
from django.utils import timezone

from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.refusals import Refused

MAX_NOTE_LENGTH = 1000  # characters


class Feedback(models.Model):
    """The rating by the conversation's owner. Deleted with the reply, and not copied to forks."""

    class Rating(models.TextChoices):
        UP = "up"
        DOWN = "down"

    message = models.OneToOneField(
        Message, models.CASCADE, primary_key=True, related_name="feedback"
    )
    rating = models.CharField(max_length=4, choices=Rating)
    note = models.TextField(blank=True, max_length=MAX_NOTE_LENGTH)
    given_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "feedback"

    def __str__(self) -> str:
        return f"{self.rating} for {self.message_id}"

    @property
    def note_bytes(self) -> int:
        return len(self.note.encode())

    @classmethod
    def give(cls, reply: Message, rating: Rating | None, note: str | None) -> Self | None:
        """Replace the feedback on a reply; return the new one.

        None as the rating deletes the feedback; None as the note keeps the present note. Raises
        `Refused` for a prompt and for a streaming reply.
        """
        if reply.is_prompt:
            raise Refused("This is a prompt. Only replies can be rated.")
        if reply.is_streaming:
            raise Refused("This reply is still being written. Rate it when it has finished.")
        before = cls.objects.filter(message=reply).first()
        if rating is None:
            after = None
            cls.objects.filter(message=reply).delete()
        else:
            values: dict[str, object] = {"rating": rating, "given_at": timezone.now()}
            if note is not None:
                values["note"] = note
            after = cls.objects.update_or_create(message=reply, defaults=values)[0]
        grown = (after.note_bytes if after else 0) - (before.note_bytes if before else 0)
        if grown:
            total = Greatest(models.F("stored_bytes") + grown, 0)
            Conversation.objects.filter(pk=reply.conversation_id).update(stored_bytes=total)
        return after


def get_loaded_feedback(message: Message) -> Feedback | None:
    """Return the feedback if it was loaded with the message; never query, so rendering can't."""
    is_read = Message.feedback.is_cached(message)
    return getattr(message, "feedback", None) if is_read else None
