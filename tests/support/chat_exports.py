"""Makes large exports of ChatGPT: trees with edits and retries, tools, code and images.

`python -m tests.support.chat_exports FILE [--megabytes 200]` writes a ZIP with so much JSON.
"""

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

START = 1_700_000_000  # seconds
SYLLABLES = [
    "ba",
    "co",
    "di",
    "fu",
    "ge",
    "hi",
    "jo",
    "ka",
    "lu",
    "me",
    "no",
    "pa",
    "qui",
    "ra",
    "so",
]
CODE = "```python\ndef area(r: float) -> float:\n    return 3.14 * r ** 2  # “about”\n```"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 80


class Maker:
    """Makes chats by chance; the same seed makes the same ones."""

    def __init__(self, seed: int = 1) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - not for secrets
        self._words = ["".join(self._some(SYLLABLES, 3)) for _ in range(2000)] + ["日本語", "naïve"]
        self.images: list[str] = []  # the ids of the images so far

    def chat(self) -> dict[str, Any]:
        """Return a chat of 2 to 60 turns, about 100 kB on average."""
        mapping: dict[str, Any] = {}
        top = self._add(mapping, None, None)
        leaf = self._add(mapping, top, self._message("system", "", weight=0.0))
        for _ in range(self._chance.randint(2, 60)):
            prompt = self._add(mapping, leaf, self._prompt())
            if self._chance.random() < 0.1:  # an edited prompt with a branch of its own
                self._reply(mapping, self._add(mapping, leaf, self._prompt()))
            if self._chance.random() < 0.15:  # a retry
                self._reply(mapping, prompt)
            leaf = self._reply(mapping, prompt)
        return {
            "title": self._text(5),
            "create_time": START + 0.5,
            "update_time": START + 900.25,
            "mapping": mapping,
            "moderation_results": [],
            "current_node": leaf,
            "plugin_ids": None,
            "conversation_id": (id := self._id()),
            "id": id,
            "gizmo_id": None,
            "is_archived": self._chance.random() < 0.1,
            "is_starred": None,
            "safe_urls": [],
            "default_model_slug": "gpt-5",
            "voice": None,
        }

    def _some(self, values: list[str], max_count: int) -> list[str]:
        return self._chance.choices(values, k=self._chance.randint(1, max_count))

    def _text(self, words: int) -> str:
        return " ".join(self._chance.choices(self._words, k=words))

    def _id(self) -> str:
        return str(UUID(int=self._chance.getrandbits(128), version=4))

    def _add(self, mapping: dict[str, Any], parent: str | None, message: Any) -> str:
        id = self._id()
        mapping[id] = {"id": id, "message": message, "parent": parent, "children": []}
        if message:
            message["id"] = id
        if parent:
            mapping[parent]["children"].append(id)
        return id

    def _prompt(self) -> dict[str, Any]:
        if self._chance.random() > 0.03:
            return self._message("user", self._text(self._chance.randint(5, 120)))
        image = f"file_{self._chance.getrandbits(128):032x}"
        self.images.append(image)
        pointer = {
            "content_type": "image_asset_pointer",
            "asset_pointer": f"sediment://{image}",
            "size_bytes": len(PNG),
            "width": 64,
            "height": 64,
        }
        content = {"content_type": "multimodal_text", "parts": [pointer, self._text(12)]}
        attached = {"id": image, "name": "photo.png", "mime_type": "image/png", "size": len(PNG)}
        return self._message("user", content, attachments=[attached])

    def _reply(self, mapping: dict[str, Any], prompt: str) -> str:
        at = prompt
        if self._chance.random() < 0.3:
            thoughts = [{"summary": self._text(4), "content": self._text(60)}]
            at = self._add(
                mapping,
                at,
                self._message("assistant", {"content_type": "thoughts", "thoughts": thoughts}),
            )
        if self._chance.random() < 0.1:
            code = {"content_type": "code", "language": "python", "text": "print(6 * 7)"}
            output = {"content_type": "execution_output", "text": self._text(20)}
            call = self._message("assistant", code)
            at = self._add(mapping, at, {**call, "recipient": "python"})
            result = self._message("tool", output)
            result["author"]["name"] = "python"
            at = self._add(mapping, at, result)
        paragraphs = [self._text(self._chance.randint(10, 90)) for _ in range(5)]
        if self._chance.random() < 0.4:
            paragraphs.insert(2, CODE)
        return self._add(mapping, at, self._message("assistant", "\n\n".join(paragraphs)))

    def _message(
        self, role: str, content: str | dict[str, Any], *, weight: float = 1.0, **metadata: Any
    ) -> dict[str, Any]:
        if isinstance(content, str):
            content = {"content_type": "text", "parts": [content]}
        return {
            "id": "",
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": START + self._chance.random() * 1000,
            "update_time": None,
            "content": content,
            "status": "finished_successfully",
            "end_turn": True,
            "weight": weight,
            "metadata": {
                "finish_details": {"type": "stop", "stop_tokens": [200002]},
                "citations": [],
                "content_references": [],
                "model_slug": "gpt-5" if role == "assistant" else None,
                "request_id": self._id(),
                "timestamp_": "absolute",
                "message_type": None,
                **metadata,
            },
            "recipient": "all",
            "channel": None,
        }


def write_json(file: IO[bytes], size: int, maker: Maker) -> None:
    """Write about so many bytes: an array of chats in one line, in ASCII, as ChatGPT does."""
    separator, written = b"[", 0
    for chat in _endless(maker):
        written += file.write(separator + json.dumps(chat).encode())
        separator = b", "
        if written >= size:
            break
    file.write(b"]")


def write_zip(path: Path, size: int) -> None:
    maker = Maker()
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("conversations.json", "w", force_zip64=True) as member:
            write_json(member, size, maker)
        for image in maker.images:
            archive.writestr(f"{image}.dat", PNG, ZIP_STORED)


def _endless(maker: Maker) -> Iterator[dict[str, Any]]:
    while True:
        yield maker.chat()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--megabytes", type=int, default=200)
    arguments = parser.parse_args()
    write_zip(arguments.file, arguments.megabytes * 2**20)
