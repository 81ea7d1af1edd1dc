"""Recordings as models: `FOLDER/NAME.jsonl` answers every question to `replay-NAME`.

The bytes and their timing are those of the file. A lost connection is replayed as a body that ends
there, because an ASGI application can't break off its connection.
"""

from pathlib import Path

from chatapp.demo.errors import ApiError
from chatapp.upstream.recordings import MalformedRecording, Recording

PREFIX = "replay-"


class Replays:
    """The recordings in a folder, read at each request; none without a folder."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def files(self) -> dict[str, Path]:
        """Return the recordings by model name."""
        paths = sorted(self._folder.glob("*.jsonl")) if self._folder else []
        return {PREFIX + path.stem: path for path in paths}

    def load(self, model: str) -> Recording | None:
        """Return a model's recording, if it has one. Raises `ApiError` 500 for an invalid file."""
        path = self.files().get(model)
        if path is None:
            return None
        try:
            return Recording.parse(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, MalformedRecording) as error:
            message = f"The recording {path.name} can't be read: {error}."
            raise ApiError(500, message, type="server_error") from error
