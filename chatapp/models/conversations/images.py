"""Images that came with replies, in a table of their own so that loading a thread skips them."""

from django.db import models
from django.db.models.functions import Coalesce, Length

from chatapp.models.accounts.users import User
from chatapp.models.files.stored_files import StoredFile

IMAGE_BYTES = Coalesce(models.F("file__size"), Length("data"))


class ReplyImageQuerySet(models.QuerySet["ReplyImage"]):
    def move_one(self) -> bool:
        """Move an image from the database to the storage of files; return whether there was one.

        Raises `OSError` if the storage fails.
        """
        waiting = self.filter(file=None).select_related("message__conversation")
        image = waiting.order_by("pk").first()
        if image is None:
            return False
        file = StoredFile.store(image.read(), image.message.conversation.user_id)
        self.filter(pk=image.pk).update(file=file, data=None)
        return True


class ReplyImage(models.Model):
    """One image of a reply. `media_type` was detected from the bytes on arrival.

    It is saved with its reply, in `data`, and moved later, so that no reply waits for the storage.
    """

    message = models.ForeignKey("chatapp.Message", models.CASCADE, related_name="images")
    position = models.PositiveSmallIntegerField()
    media_type = models.CharField(max_length=10)
    data = models.BinaryField(null=True)
    file = models.ForeignKey(StoredFile, models.PROTECT, null=True, related_name="reply_images")
    # Whose files it counts as. None if a model made it here, which limits on replies bound.
    imported_by = models.ForeignKey(
        User, models.CASCADE, null=True, related_name="imported_images", editable=False
    )

    objects = models.Manager.from_queryset(ReplyImageQuerySet)()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["message", "position"], name="one_image_a_position")
        ]

    def __str__(self) -> str:
        return f"Image {self.position + 1}"

    def read(self) -> bytes:
        """Return its bytes.

        Raises `OSError` if the storage fails, and `FileNotFoundError` if it has lost them.
        """
        return self.file.read() if self.file else bytes(self.data or b"")
