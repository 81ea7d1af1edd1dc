"""Reads the files that a mail carries, with the readers of attached files."""

import io
from dataclasses import replace
from importlib import import_module

from chatapp.documents import refusals
from chatapp.documents.formats import detection
from chatapp.documents.formats.output.illustrated_pages import IllustratedPages
from chatapp.documents.labels import refine_label
from chatapp.documents.results import Document, Limits, Picture, Result, Scan, Unreadable

READERS = (
    *("compound", "images.images", "images.tiff", "mail.mail", "pdf.pdf", "rtf.rtf"),
    *("text.plain_text", "zipped"),
)


def import_readers() -> None:
    """Import all readers, which is not possible in the sandbox."""
    for name in READERS:
        import_module(f"{detection.PACKAGE}.{name}")


def read(content: bytes, name: str, limits: Limits, pages: IllustratedPages) -> tuple[str, str]:
    """Return the kind of a file and its text, with its pictures taken by `pages`.

    Raises `Unreadable` if the file is not read.
    """
    result = read_result(content, name, limits, pages.room)
    match result:
        case Document():
            return result.kind, pages.include(result)
        case Picture():
            for left in result.left_out:
                pages.leave_out(left.what, left.count)
            return result.media_type.partition("/")[2].upper(), pages.place(result, name)
        case Scan():
            return result.kind, _include_scan(result, name, pages)


def _include_scan(scan: Scan, name: str, pages: IllustratedPages) -> str:
    lines = [pages.place(each, f"Page {i} of {name}") for i, each in enumerate(scan.pages, 1)]
    first, last = len(scan.pages) + 1, scan.page_count
    if first <= last:
        pages.leave_out("page", last - first + 1)
        is_one = first == last
        lines.append(
            f"[Page {last} is left out]" if is_one else f"[Pages {first}-{last} are left out]"
        )
    for left in scan.left_out:
        pages.leave_out(left.what, left.count)
    return "\n".join(lines)


def read_result(content: bytes, name: str, limits: Limits, room: int) -> Result:
    if not content:
        raise refusals.empty()
    module = import_module(detection.module_for(content[: detection.HEAD_BYTES]))
    try:
        result: Result = module.read(io.BytesIO(content), replace(limits, pictures=max(room, 1)))
    except MemoryError:
        raise refusals.too_much_memory() from None
    except Unreadable:
        raise
    except Exception as error:  # hostile files make parsers raise anything
        raise refusals.damaged() from error
    return refine_label(result, name)
