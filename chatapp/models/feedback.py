"""What people think of the replies that they were given."""

from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models.functions import Greatest
from django.utils import timezone

from chatapp.models.conversations import Conversation
from chatapp.models.refusals import Refused

if TYPE_CHECKING:
    from chatapp.models.messages import Message

LONGEST_NOTE = 1000  # characters


class Feedback(models.Model):
    """Of the conversation's owner; it goes with the reply, and no fork has it."""

    class Rating(models.TextChoices):
        UP = "up"
        DOWN = "down"

    message = models.OneToOneField(
        "chatapp.Message", models.CASCADE, primary_key=True, related_name="feedback"
    )
    rating = models.CharField(max_length=4, choices=Rating)
    note = models.TextField(blank=True, max_length=LONGEST_NOTE)
    given_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "feedback"

    def __str__(self) -> str:
        return f"{self.rating} for {self.message_id}"

    @property
    def note_bytes(self) -> int:
        return len(self.note.encode())

    @classmethod
    def give(cls, reply: "Message", rating: Rating | None, note: str | None) -> Self | None:
        """In place of what was given before: no rating takes that back with its note, and without
        a note its own stays. Raises `Refused`."""
        if reply.is_prompt:
            raise Refused("This is a prompt. Only replies are rated.")
        if reply.is_streaming:
            raise Refused("This reply is being written. Rate it once it has ended.")
        before = cls.objects.filter(message=reply).first()
        if rating is None:
            after = None
            cls.objects.filter(message=reply).delete()
        else:
            given: dict[str, object] = {"rating": rating, "given_at": timezone.now()}
            if note is not None:
                given["note"] = note
            after = cls.objects.update_or_create(message=reply, defaults=given)[0]
        grown = (after.note_bytes if after else 0) - (before.note_bytes if before else 0)
        if grown:
            in_all = Greatest(models.F("stored_bytes") + grown, 0)
            Conversation.objects.filter(pk=reply.conversation_id).update(stored_bytes=in_all)
        return after
