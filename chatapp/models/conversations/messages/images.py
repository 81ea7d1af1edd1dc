"""Images that came with replies, in a table of their own so that loading a thread skips them."""

from uuid import UUID

from django.db import models
from django.db.models.functions import Coalesce, Length

from chatapp.models.accounts.users import User
from chatapp.models.files.stored_files import StoredFile

# Positions: those of images that tools returned begin here, those of the answer at 0.
FIRST_OF_TOOLS, END_OF_IMAGES = 1000, 2000

IMAGE_BYTES = Coalesce(models.F("file__size"), Length("data"))


class ReplyImageQuerySet(models.QuerySet["ReplyImage"]):
    def move_one_to_storage(self) -> bool:
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
    """One image of a reply, or of a tool's result in it.

    An image of a reply is saved with it, in `data`, and moved later, so that no reply waits for the
    storage. Its `media_type` was detected from the bytes on arrival.
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
        if self.position >= FIRST_OF_TOOLS:
            return f"Tool image {self.position - FIRST_OF_TOOLS + 1}"
        return f"Image {self.position + 1}"

    def read(self) -> bytes:
        """Return its bytes.

        Raises `OSError` if the storage fails, and `FileNotFoundError` if it has lost them.
        """
        return self.file.read() if self.file else bytes(self.data or b"")


def tool_image_files(message: UUID) -> dict[int, str]:
    """Return the names in the storage of the images that a reply's tools returned, by position."""
    images = ReplyImage.objects.filter(message=message, position__gte=FIRST_OF_TOOLS)
    return dict(images.exclude(file=None).values_list("position", "file__name"))
