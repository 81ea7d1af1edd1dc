"""Images that came with replies. They are rows of their own, so that no thread loads them."""

from django.db import models

from chatapp.models.users import User


class ReplyImageQuerySet(models.QuerySet["ReplyImage"]):
    def readable_by(self, user: User) -> "ReplyImageQuerySet":
        """Those of one's own conversations; who reviews conversations sees all."""
        if user.is_staff and user.has_perm("chatapp.view_conversation"):
            return self
        return self.filter(message__conversation__user=user)


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
