"""The icon of a file: one for each type, wherever files are shown.

What was read of a file decides; its name only does so until then, and if it could not be read.
"""

from pathlib import PurePosixPath

from chatapp.documents.labels import BY_EXTENSION
from chatapp.models import Attachment, FileContent, PresetFile

IMAGE = "file-image"
PDF = "file-pdf"
DOCUMENT = "file-text"
SPREADSHEET = "file-spreadsheet"
PRESENTATION = "presentation"
TEXT = "file-type"
CODE = "file-code"
AUDIO = "file-music"
ARCHIVE = "file-archive"
OTHER = "file"
ALL = (IMAGE, PDF, DOCUMENT, SPREADSHEET, PRESENTATION, TEXT, CODE, AUDIO, ARCHIVE, OTHER)

BY_UNIT = {"Sheet": SPREADSHEET, "Slide": PRESENTATION}
BY_LABEL = {
    "PDF": PDF,
    "Word": DOCUMENT,
    "OpenDocument": DOCUMENT,
    **dict.fromkeys(("Mail", "Outlook mail", "RTF", "EPUB", "Notebook", "HTML"), DOCUMENT),
    "TIFF": IMAGE,
    "Markdown": DOCUMENT,
    "CSV": SPREADSHEET,
    "Text": TEXT,
    "Subtitles": TEXT,
}
EXTENSIONS = {
    IMAGE: "png jpg jpeg gif webp heic heif avif tif tiff bmp",
    PDF: "pdf",
    DOCUMENT: "doc docx docm odt ott rtf epub eml msg mbox pages",
    SPREADSHEET: "xls xlsx xlsm xlsb ods ots numbers",
    PRESENTATION: "ppt pptx pptm odp otp key",
    AUDIO: "mp3 wav m4a aac ogg oga opus flac wma aiff mid midi",
    ARCHIVE: "zip gz tgz tar bz2 xz 7z rar zst",
}
BY_SUFFIX = {
    f".{extension}": icon
    for icon, extensions in EXTENSIONS.items()
    for extension in extensions.split()
}


def file_icon(file: Attachment | PresetFile) -> str:
    """Return the name of a file's icon in static/icons.svg."""
    content = file.content
    if content is None:
        return _icon_of_name(file.name)
    if content.kind == FileContent.Kind.IMAGE:
        return IMAGE
    return BY_UNIT.get(content.unit) or BY_LABEL.get(content.label, CODE)


def _icon_of_name(name: str) -> str:
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in BY_EXTENSION:
        return BY_LABEL.get(BY_EXTENSION[suffix], CODE)
    return BY_SUFFIX.get(suffix, OTHER)
