"""Images that came with replies. They are rows of their own, so that no thread loads them."""

from django.db import models

from chatapp.models.review_policies import is_reviewable
from chatapp.models.reviews import Opening
from chatapp.models.users import User


class ReplyImageQuerySet(models.QuerySet["ReplyImage"]):
    def readable_by(self, user: User) -> "ReplyImageQuerySet":
        """Those of one's own conversations; who reviews sees those of what they have opened, too.
        None of a trash."""
        there = self.filter(message__deleted_at=None, message__conversation__trashed_at=None)
        own = models.Q(message__conversation__user=user)
        if user.reviews:
            opened = Opening.objects.living().filter(
                reviewer=user, conversation=models.OuterRef("message__conversation")
            )
            read = models.Q(is_reviewable("message__conversation"), models.Exists(opened))
            return there.filter(own | read)
        return there.filter(own)


class ReplyImage(models.Model):
    """One image. Its bytes are what `media_type` says: they were looked at when they came."""

    message = models.ForeignKey("chatapp.Message", models.CASCADE, related_name="images")
    position = models.PositiveSmallIntegerField()
    media_type = models.CharField(max_length=10)
    data = models.BinaryField()

    objects = models.Manager.from_queryset(ReplyImageQuerySet)()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["message", "position"], name="one_image_a_position")
        ]

    def __str__(self) -> str:
        return f"Image {self.position + 1}"
