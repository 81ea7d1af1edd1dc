"""The extras of a reply besides its text: sources, images, sound, and parts not understood."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from chatapp.upstream.wire.reply import Reply
from chatapp.upstream.wire.sources import MAX_SOURCES, Source, parse_source


@dataclass(frozen=True)
class Extras:
    """The extras of all rounds of a reply. The images themselves are rows of `ReplyImage`."""

    sources: tuple[Source, ...] = ()
    source_count: int = 0  # as the upstream counts them, named or not
    has_sound: bool = False
    image_count: int = 0
    tool_image_count: int = 0  # of images in the results of tools
    expired_images: int = 0  # that were deleted by retention
    left_out: Mapping[str, int] = field(default_factory=dict)  # number of skipped parts by kind
    reasoning_field: str = ""  # in which reasoning arrived, and is sent back with tool calls
    # Of tool calls, by their round and index, such as "0.1": `ToolRun.aside_record`.
    asides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    conceded: str = ""  # what the model was not asked with: "tools", or "reasoning"
    # Of an imported reply: `provenance` and the tokens that its export says it had. They are shown,
    # and are in no sum.
    imported_usage: Mapping[str, Any] = field(default_factory=dict)

    def plus(self, reply: Reply) -> "Extras":
        """Return these extras with those of one more round."""
        by_url = {source.url: source for source in self.sources} | reply.sources
        left_out = dict(self.left_out)
        for what, count in reply.left_out.items():
            left_out[what] = left_out.get(what, 0) + count
        return Extras(
            sources=tuple(by_url.values())[:MAX_SOURCES],
            source_count=self.source_count + reply.source_count,
            has_sound=self.has_sound or reply.has_sound,
            image_count=self.image_count + len(reply.images),
            tool_image_count=self.tool_image_count,
            expired_images=self.expired_images,
            left_out=left_out,
            reasoning_field=reply.reasoning_field or self.reasoning_field,
            asides=self.asides,
            conceded=self.conceded,
        )

    @classmethod
    def from_record(cls, record: Mapping[str, Any] | None) -> Self:
        """Read what `as_record` wrote; check each link again, and ignore unknown keys."""
        if not record:
            return cls()
        sources = (parse_source(*source) for source in record.get("sources", ()))
        return cls(
            sources=tuple(filter(None, sources)),
            source_count=record.get("source_count", 0),
            has_sound=record.get("has_sound", False),
            image_count=record.get("image_count", 0),
            tool_image_count=record.get("tool_image_count", 0),
            expired_images=record.get("expired_images", 0),
            left_out=record.get("left_out", {}),
            reasoning_field=record.get("reasoning_field", ""),
            asides=record.get("asides", {}),
            conceded=record.get("conceded", ""),
            imported_usage=record.get("imported_usage", {}),
        )

    def as_record(self) -> dict[str, Any] | None:
        """Return the extras as JSON, or None if there are none, as with most replies."""
        record = {
            "sources": [[source.url, source.title] for source in self.sources],
            "source_count": self.source_count,
            "has_sound": self.has_sound,
            "image_count": self.image_count,
            "tool_image_count": self.tool_image_count,
            "expired_images": self.expired_images,
            "left_out": dict(self.left_out),
            "reasoning_field": self.reasoning_field,
            "asides": dict(self.asides),
            "conceded": self.conceded,
            "imported_usage": dict(self.imported_usage),
        }
        return {name: value for name, value in record.items() if value} or None

    @property
    def has_visible_parts(self) -> bool:
        """Whether any of them is shown below the answer."""
        images = self.image_count or self.expired_images
        return bool(self.sources or self.source_count or self.has_sound or images)

    def without_images(self) -> Self:
        """Return the extras after the images have expired."""
        expired = self.expired_images + self.image_count + self.tool_image_count
        return replace(self, image_count=0, tool_image_count=0, expired_images=expired)

    @property
    def images(self) -> range:
        """The positions of the images, without those of tools."""
        return range(self.image_count)

    @property
    def has_rows(self) -> bool:
        """Whether there are rows of `ReplyImage`."""
        return bool(self.image_count or self.tool_image_count)

    @property
    def left_out_count(self) -> int:
        return sum(self.left_out.values())

    @property
    def left_out_words(self) -> str:
        """The kinds of skipped parts, most frequent first: `content (2), image`."""
        pieces = sorted(self.left_out.items(), key=lambda piece: -piece[1])
        return ", ".join(f"{what} ({count})" if count > 1 else what for what, count in pieces)
