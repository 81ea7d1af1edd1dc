"""The installation's logo: one row, or none, in a table of its own so that no page loads it."""

from hashlib import sha256

from django.core.exceptions import ValidationError
from django.db import models

from chatapp.models.platform.image_sizes import read_size
from chatapp.upstream.wire.images import Image, detect_media_type

SINGLETON_PK = 1  # the primary key of the one row
MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp")
MAX_BYTES = 256 * 1024
MAX_PIXELS = 1024  # per side

NO_IMAGE = "The file can't be used. Choose a PNG, JPEG or WebP image."
TOO_LARGE = f"The file is too large. The limit is {MAX_BYTES // 1024} KiB."
TOO_WIDE = f"The image is too large. The limit is {MAX_PIXELS:,} pixels per side."


class Logo(models.Model):
    """The logo. `media_type` was detected from the bytes on upload."""

    media_type = models.CharField(max_length=10)
    data = models.BinaryField()

    def __str__(self) -> str:
        return "The logo"

    @property
    def version(self) -> str:
        return hash_logo(bytes(self.data))

    @classmethod
    def replace(cls, image: Image | None) -> str:
        """Store this logo instead of the present one, or delete that; return the version or ""."""
        if image is None:
            cls.objects.all().delete()
            return ""
        fields = {"media_type": image.media_type, "data": image.data}
        cls.objects.update_or_create(pk=SINGLETON_PK, defaults=fields)
        return hash_logo(image.data)


def parse_logo(data: bytes) -> Image:
    """Return an uploaded file as an image. Raises `ValidationError`.

    SVG is refused, because it can contain scripts.
    """
    if len(data) > MAX_BYTES:
        raise ValidationError(TOO_LARGE)
    media_type = detect_media_type(data)
    size = read_size(media_type, data)
    if media_type not in MEDIA_TYPES or size is None:
        raise ValidationError(NO_IMAGE)
    if max(size) > MAX_PIXELS:
        raise ValidationError(TOO_WIDE)
    return Image(media_type, data)


def hash_logo(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]
