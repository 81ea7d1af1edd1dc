"""What people think of the replies that they were given."""

from typing import TYPE_CHECKING, Self

from django.db import models
from django.utils import timezone

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

    @classmethod
    def give(cls, reply: "Message", rating: Rating | None, note: str | None) -> Self | None:
        """In place of what was given before: no rating takes that back with its note, and without
        a note its own stays. Raises `Refused`."""
        if reply.is_prompt:
            raise Refused("This is a prompt. Only replies are rated.")
        if reply.is_streaming:
            raise Refused("This reply is being written. Rate it once it has ended.")
        if rating is None:
            cls.objects.filter(message=reply).delete()
            return None
        given: dict[str, object] = {"rating": rating, "given_at": timezone.now()}
        if note is not None:
            given["note"] = note
        return cls.objects.update_or_create(message=reply, defaults=given)[0]
