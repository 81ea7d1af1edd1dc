"""Images that came with replies, in a table of their own so that loading a thread skips them."""

from django.db import models


class ReplyImage(models.Model):
    """One image of a reply. `media_type` was detected from the bytes on arrival."""

    message = models.ForeignKey("chatapp.Message", models.CASCADE, related_name="images")
    position = models.PositiveSmallIntegerField()
    media_type = models.CharField(max_length=10)
    data = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["message", "position"], name="one_image_a_position")
        ]

    def __str__(self) -> str:
        return f"Image {self.position + 1}"
