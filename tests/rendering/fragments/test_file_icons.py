"""The icons of files: by what was read of them, or else by their names."""

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

from chatapp.models import Attachment, FileContent, StoredFile
from chatapp.rendering.fragments import file_icons
from chatapp.rendering.fragments.file_icons import file_icon


def test_the_sprite_has_every_icon() -> None:
    sprite = Path(str(finders.find("icons.svg"))).read_text()
    assert set(file_icons.ALL) <= set(re.findall('id="icon-([a-z-]+)"', sprite))


@pytest.mark.parametrize(
    ("kind", "label", "unit", "icon"),
    [
        ("image", "PNG", "", file_icons.IMAGE),
        ("document", "PDF", "Page", file_icons.PDF),
        ("scan", "PDF", "Page", file_icons.PDF),
        ("document", "Word", "Page", file_icons.DOCUMENT),
        ("document", "OpenDocument", "", file_icons.DOCUMENT),
        ("document", "OpenDocument", "Sheet", file_icons.SPREADSHEET),
        ("document", "OpenDocument", "Slide", file_icons.PRESENTATION),
        ("document", "Excel", "Sheet", file_icons.SPREADSHEET),
        ("document", "CSV", "", file_icons.SPREADSHEET),
        ("document", "PowerPoint", "Slide", file_icons.PRESENTATION),
        *(("document", label, "", file_icons.DOCUMENT) for label in ("Mail", "RTF", "EPUB")),
        ("scan", "TIFF", "Page", file_icons.IMAGE),
        ("document", "Text", "", file_icons.TEXT),
        ("document", "Python", "", file_icons.CODE),
    ],
)
def test_what_was_read_decides(kind: str, label: str, unit: str, icon: str) -> None:
    file = StoredFile()
    file.content = FileContent(kind=kind, label=label, unit=unit)
    assert file_icon(Attachment(name="song.mp3", file=file)) == icon


@pytest.mark.parametrize(
    ("name", "icon"),
    [
        ("Photo.JPEG", file_icons.IMAGE),
        ("report.pdf", file_icons.PDF),
        ("letter.doc", file_icons.DOCUMENT),
        ("page.html", file_icons.DOCUMENT),
        ("figures.xls", file_icons.SPREADSHEET),
        ("figures.csv", file_icons.SPREADSHEET),
        ("talk.key", file_icons.PRESENTATION),
        ("notes.txt", file_icons.TEXT),
        ("main.py", file_icons.CODE),
        ("song.mp3", file_icons.AUDIO),
        ("backup.tar.gz", file_icons.ARCHIVE),
        ("program", file_icons.OTHER),
        ('"><script>', file_icons.OTHER),
    ],
)
def test_until_then_its_name_decides(name: str, icon: str) -> None:
    assert file_icon(Attachment(name=name)) == icon
