"""Parts of a prompt's content."""

from typing import NamedTuple


class ImagePart(NamedTuple):
    """An image in the storage of files, which is sent as a data URL."""

    file: str
    media_type: str
    width: int
    height: int
    size: int
