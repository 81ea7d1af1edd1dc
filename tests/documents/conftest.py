"""`read` writes a file and has it read in the real sandbox."""

from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from chatapp import documents
from chatapp.documents import Document, Limits, Picture, Scan, Unreadable


@dataclass(frozen=True)
class Reader:
    """Reads content within limits that a test may narrow."""

    folder: Path

    def __call__(
        self, content: bytes, name: str = "", /, **limits: float
    ) -> Document | Picture | Scan:
        path = self.folder / "content"
        path.write_bytes(content)
        return documents.read(path, Limits(**(asdict(Limits()) | limits)), name)

    def document(self, content: bytes, name: str = "", /, **limits: float) -> Document:
        result = self(content, name, **limits)
        assert isinstance(result, Document)
        return result

    def text(self, content: bytes, name: str = "", /, **limits: float) -> str:
        (page,) = self.document(content, name, **limits).pages
        return page

    def picture(self, content: bytes, name: str = "", /, **limits: float) -> Picture:
        result = self(content, name, **limits)
        assert isinstance(result, Picture)
        return result

    def scan(self, content: bytes, /, **limits: float) -> Scan:
        result = self(content, **limits)
        assert isinstance(result, Scan)
        return result

    def refusal(self, content: bytes, name: str = "", /, **limits: float) -> str:
        with pytest.raises(Unreadable) as refused:
            self(content, name, **limits)
        return str(refused.value)


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    return Reader(tmp_path)
