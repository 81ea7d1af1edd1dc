"""The sentences for files that are not read."""

from .results import ReadableLater, Unreadable

READABLE = "Attach a PDF, an image, an Office document, a mail, an e-book or a text file instead."


def empty() -> Unreadable:
    return Unreadable("This file is empty.")


def no_text(kind: str) -> Unreadable:
    return Unreadable(f"This {kind} file has no text.")


def damaged(kind: str = "") -> Unreadable:
    return Unreadable(
        f"This {kind} file is damaged or incomplete. Save it again, then attach the new file."
        if kind
        else "This file could not be read: it is damaged or incomplete."
    )


def encrypted(kind: str) -> Unreadable:
    return Unreadable(
        f"This {kind} file is encrypted. Save it without a password, then attach the new file."
    )


def outdated(kind: str, extension: str) -> Unreadable:
    return Unreadable(f"{kind} files cannot be read. Save the file as {extension}, then attach it.")


def unknown_kind(what: str = "Files of this kind") -> Unreadable:
    return Unreadable(f"{what} cannot be read. {READABLE}")


def archive() -> Unreadable:
    return Unreadable("Archives are not opened. Attach the files in it one by one.")


def inflated() -> Unreadable:
    return Unreadable("This file is not read because its content is too large when unpacked.")


def declares_entities() -> Unreadable:
    return Unreadable("This file is not read because its XML declares a document type.")


def too_many_pages(count: int, limit: int, unit: str) -> Unreadable:
    return Unreadable(f"This file has {count:,} {unit.lower()}s. At most {limit:,} can be read.")


def too_many_parts(limit: int) -> Unreadable:
    return Unreadable(f"This mail has more than {limit:,} parts, the limit for a mail.")


def too_many_characters(limit: int) -> Unreadable:
    return Unreadable(
        f"This file has more than {limit:,} characters of text, the limit for a file."
    )


def too_many_cells(limit: int) -> Unreadable:
    return Unreadable(
        f"This spreadsheet has more than {limit:,} cells with a value. Attach a part of it instead."
    )


def too_many_pixels(width: int, height: int, limit: int) -> Unreadable:
    return Unreadable(
        f"This image has {width:,} × {height:,} pixels. At most {limit / 1e6:,.3g} million pixels"
        " can be read."
    )


def too_slow(seconds: float) -> Unreadable:
    return Unreadable(f"This file took too long to read. The limit is {seconds:g} s of computing.")


def too_much_memory() -> Unreadable:
    return Unreadable("This file needs too much memory to read.")


def crashed() -> Unreadable:
    return Unreadable("This file could not be read: it is damaged or needs too much memory.")


def no_sandbox() -> Unreadable:
    return Unreadable("This server cannot read files safely. Ask your administrator to look at it.")


def no_process() -> ReadableLater:
    return ReadableLater("This file could not be read because the server is too busy. Try again.")
