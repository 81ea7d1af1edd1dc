"""Recordings as models: `FOLDER/NAME.jsonl` answers every question put to `replay-NAME`.

The bytes are those of the file, with its own timing. A connection that was lost is replayed as a
body that ends there, since an ASGI application can't break one off.
"""

from pathlib import Path

from chatapp.demo.errors import ApiError
from chatapp.upstream.recordings import MalformedRecording, Recording

PREFIX = "replay-"


class Replays:
    """The recordings of a folder, as they are at the moment; without a folder, none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def files(self) -> dict[str, Path]:
        """The recordings by the name of their model."""
        found = sorted(self._folder.glob("*.jsonl")) if self._folder else []
        return {PREFIX + path.stem: path for path in found}

    def load(self, model: str) -> Recording | None:
        """None if the model is no recording. Raises `ApiError` 500 for a file that is none."""
        path = self.files().get(model)
        if path is None:
            return None
        try:
            return Recording.parse(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, MalformedRecording) as error:
            message = f"The recording {path.name} can't be read: {error}."
            raise ApiError(500, message, type="server_error") from error
