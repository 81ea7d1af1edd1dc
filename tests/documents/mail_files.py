"""Makes mails, also those that Outlook saves."""

import struct
from collections.abc import Mapping, Sequence
from email.message import EmailMessage

from tests.documents import files

SECTOR, SMALL_SECTOR, SMALL = 512, 64, 4096
FREE, END, FAT_SECTOR, NONE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
STORAGE, STREAM, ROOT = 1, 2, 5
Tree = Mapping[str, "bytes | Tree"]


def mail(body: str = "Hello", **fields: str) -> EmailMessage:
    message = EmailMessage()
    for name, value in {"From": "Ann <ann@example.org>", "Subject": "Plan", **fields}.items():
        message[name] = value
    message["Date"] = "Tue, 03 Mar 2026 09:12:00 +0100"
    message.set_content(body)
    return message


def compound_file(tree: Tree) -> bytes:
    """A compound file (MS-CFB) of streams, and of storages with them."""
    entries: list[tuple[str, int, bytes, list[int]]] = [("Root Entry", ROOT, b"", [])]
    _add_entries(tree, 0, entries)
    sectors: list[bytes] = []
    fat: list[int] = []
    small, small_fat = b"", list[int]()
    starts = []
    for _, kind, data, _ in entries:
        if kind == STREAM and len(data) < SMALL:
            starts.append(len(small) // SMALL_SECTOR if data else END)
            count = -(-len(data) // SMALL_SECTOR)
            small_fat += _chain(len(small_fat), count)
            small += data.ljust(count * SMALL_SECTOR, b"\0")
        else:
            starts.append(_add_sectors(data, sectors, fat))
    starts[0] = _add_sectors(small, sectors, fat)
    directory = b"".join(
        _entry(i, entries, start, len(small) if i == 0 else len(each[2]))
        for i, (each, start) in enumerate(zip(entries, starts, strict=True))
    )
    directory_start = _add_sectors(directory, sectors, fat)
    packed = b"".join(struct.pack("<I", each) for each in small_fat)
    small_fat_start = _add_sectors(packed, sectors, fat, b"\xff")
    fat_count = 1
    while -(-(len(fat) + fat_count) * 4 // SECTOR) > fat_count:
        fat_count += 1
    fat_start = len(fat)
    fat += [FAT_SECTOR] * fat_count
    fat_data = b"".join(struct.pack("<I", each) for each in fat).ljust(fat_count * SECTOR, b"\xff")
    header = struct.pack(
        "<8s16xHHHHH6xIIIIIIIIII",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        *(0x3E, 3, 0xFFFE, 9, 6),
        *(0, fat_count, directory_start, 0, SMALL),
        *(small_fat_start, -(-len(packed) // SECTOR), END, 0),
        fat_start,
    )
    places = [*range(fat_start + 1, fat_start + fat_count), *[FREE] * 109][:108]
    header += struct.pack("<108I", *places)
    return header + b"".join(sectors) + fat_data


def _add_entries(tree: Tree, parent: int, entries: list[tuple[str, int, bytes, list[int]]]) -> None:
    for name, content in tree.items():
        index = len(entries)
        entries[parent][3].append(index)
        is_stream = isinstance(content, bytes)
        entries.append(
            (name, STREAM if is_stream else STORAGE, content if is_stream else b"", [])  # type: ignore[arg-type]
        )
        if not isinstance(content, bytes):
            _add_entries(content, index, entries)


def _entry(
    index: int,
    entries: Sequence[tuple[str, int, bytes, list[int]]],
    start: int,
    size: int,
) -> bytes:
    """A directory entry. Its siblings are a chain to the right, which readers accept."""
    name, kind, _, children = entries[index]
    siblings = next((each[3] for each in entries if index in each[3]), [index])
    place = siblings.index(index)
    right = siblings[place + 1] if place + 1 < len(siblings) else NONE
    encoded = f"{name}\0".encode("utf-16-le")
    child = children[0] if children else NONE
    return struct.pack(
        "<64sHBBIII16xI8x8xIQ", encoded, len(encoded), kind, 1, NONE, right, child, 0, start, size
    )


def _chain(first: int, count: int) -> list[int]:
    return [*range(first + 1, first + count), END] if count else []


def _add_sectors(data: bytes, sectors: list[bytes], fat: list[int], padding: bytes = b"\0") -> int:
    if not data:
        return END
    start, count = len(fat), -(-len(data) // SECTOR)
    fat += _chain(start, count)
    sectors.append(data.ljust(count * SECTOR, padding))
    return start


def properties(numbers: Mapping[int, int], header_bytes: int = 32) -> bytes:
    """The properties of fixed length, by their tags."""
    entries = b"".join(struct.pack("<IIQ", tag, 6, value) for tag, value in numbers.items())
    return bytes(header_bytes) + entries


def outlook_texts(texts: Mapping[str, str]) -> "dict[str, bytes | Tree]":
    return {f"__substg1.0_{name}001F": text.encode("utf-16-le") for name, text in texts.items()}


def outlook(tree: Tree, numbers: Mapping[int, int] | None = None) -> bytes:
    fixed: dict[str, bytes | Tree] = {"__properties_version1.0": properties(numbers or {})}
    return compound_file({**fixed, **tree})


def packed_rtf(text: bytes) -> bytes:
    """Rich text as Outlook packs it, though without anything that is repeated."""
    runs = (b"\0" + text[i : i + 8] for i in range(0, len(text), 8))
    data = b"".join(runs)
    return struct.pack("<II4sI", len(data) + 12, len(text), b"LZFu", 0) + data


def with_all_kinds() -> bytes:
    """A mail with attachments of each kind, in unusual encodings."""
    message = mail("Words")
    for name, content in {
        "a.docx": files.word(),
        "a.xlsx": files.excel(),
        "a.pdf": files.pdf(["Words"]),
        "a.rtf": b"{\\rtf1 Words}",
        "a.heic": files.HEIC,
        "a.tif": files.animation("TIFF", ["red", "blue"]),
        "a.msg": outlook(OUTLOOK),
        "a.epub": files.book({"a.xhtml": "<html>Words</html>"}),
        "a.txt": "Съешь же ещё этих булок".encode("koi8_r"),
        "a.eml": mail("Words").as_bytes(),
        "a.bin": bytes(range(256)),
    }.items():
        message.add_attachment(content, maintype="application", subtype="x", filename=name)
    message.add_attachment(mail("Words", Subject="Inner"))
    other = message.as_bytes().replace(b"utf-8", b"x-unknown")
    return other.replace(b"Subject: Plan", "Subject: Größe =?x-none?q?a?=".encode("latin-1"))


OUTLOOK: Tree = {
    **outlook_texts(
        {"0037": "Angebot 見積", "0C1A": "Ana", "5D01": "ana@example.org", "1000": "Hällo\r\nWelt"}
    ),
    "__recip_version1.0_#00000000": {
        "__properties_version1.0": properties({0x0C150003: 1}, 8),
        **outlook_texts({"3001": "Ben", "39FE": "ben@example.org"}),
    },
    "__recip_version1.0_#00000001": {
        "__properties_version1.0": properties({0x0C150003: 2}, 8),
        **outlook_texts({"3001": "Cara", "39FE": "/o=x/cn=cara"}),
    },
    "__attach_version1.0_#00000000": {
        "__properties_version1.0": properties({}, 8),
        **outlook_texts({"3707": "a.csv"}),
        "__substg1.0_37010102": b"a;b\n1;2\n" * 900,
    },
    "__attach_version1.0_#00000001": {
        "__properties_version1.0": properties({}, 8),
        **outlook_texts({"3001": "Inner mail"}),
        "__substg1.0_3701000D": {
            **outlook_texts({"0037": "Inner", "1000": "The inner says 42."}),
            "__properties_version1.0": properties({}, 24),
        },
    },
}
SENT_AT = {0x00390040: 134_170_099_200_000_000}  # in tenths of a microsecond since 1601
