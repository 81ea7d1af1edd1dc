"""People's pictures, in a table of their own, so that no page loads their bytes."""

from hashlib import sha256
from typing import ClassVar

from django.db import models

from chatapp.models.accounts.users import User
from chatapp.models.refusals import Refused

MAX_BYTES = 256 * 1024
TOO_LARGE = f"This picture is too large. Choose one of at most {MAX_BYTES // 1024} KiB."


class Avatar(models.Model):
    """A person's picture, encoded by the app. Its version is in its address, and in the `User`."""

    user = models.OneToOneField(User, models.CASCADE, related_name="avatar")
    version = models.CharField(max_length=16, db_index=True)
    media_type = models.CharField(max_length=10)  # image/png or image/jpeg
    data = models.BinaryField()

    objects: ClassVar[models.Manager["Avatar"]] = models.Manager()

    def __str__(self) -> str:
        return f"The picture of {self.user}"

    @classmethod
    def replace(cls, user: User, media_type: str, data: bytes) -> None:
        """Store a person's picture instead of the present one, in the caller's transaction.

        Raises `Refused`.
        """
        if len(data) > MAX_BYTES:
            raise Refused(TOO_LARGE)
        version = sha256(data).hexdigest()[:16]
        fields = {"version": version, "media_type": media_type, "data": data}
        cls.objects.update_or_create(user=user, defaults=fields)
        user.avatar_version = version
        user.save(update_fields=["avatar_version"])

    @classmethod
    def remove(cls, user: User) -> None:
        """Delete a person's picture, if there is one, in the caller's transaction."""
        cls.objects.filter(user=user).delete()
        user.avatar_version = ""
        user.save(update_fields=["avatar_version"])
