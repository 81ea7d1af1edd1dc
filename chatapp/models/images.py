"""Images that came with replies, in a table of their own so that loading a thread skips them."""

from django.db import models

from chatapp.models.review_policies import is_reviewable
from chatapp.models.reviews import Opening
from chatapp.models.users import User


class ReplyImageQuerySet(models.QuerySet["ReplyImage"]):
    def readable_by(self, user: User) -> "ReplyImageQuerySet":
        """Return images in the user's own conversations; for a reviewer, also in those opened.

        Images of deleted messages and of trashed conversations are left out.
        """
        present = self.filter(message__deleted_at=None, message__conversation__trashed_at=None)
        own = models.Q(message__conversation__user=user)
        if user.reviews:
            opened = Opening.objects.living().filter(
                reviewer=user, conversation=models.OuterRef("message__conversation")
            )
            read = models.Q(is_reviewable("message__conversation"), models.Exists(opened))
            return present.filter(own | read)
        return present.filter(own)


class ReplyImage(models.Model):
    """One image of a reply. `media_type` was detected from the bytes on arrival."""

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
