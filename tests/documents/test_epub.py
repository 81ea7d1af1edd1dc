"""Books are read in the order of reading."""

import pytest

from tests.documents import files
from tests.documents.conftest import Reader

PAGE = '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'


def test_chapters_come_in_the_order_of_reading(read: Reader) -> None:
    document = read.document(
        files.book(
            {
                "b c.xhtml": f"{PAGE}<body><h2>Zwei</h2><p>漢<ruby>字<rt>じ</rt></ruby></p>"
                "</body></html>",
                "a.xhtml": f'<?xml version="1.0"?>\n{PAGE}<head><title/><script src="x.js"/></head>'
                '<body><h1>Eins<a id="p1"/></h1><p>Text</p></body></html>',
            }
        )
    )
    assert (document.kind, document.media_type) == ("EPUB", "application/epub+zip")
    assert document.pages == (
        "Title: Das Buch\nAuthor: Ana, Ben\n\n# Eins\n\nText",
        "## Zwei\n\n漢字(じ)",
    )


def test_pictures_are_in_their_places(read: Reader) -> None:
    document = read.document(
        files.book(
            {
                "b.xhtml": f'{PAGE}<p>See <img src="../img/red.png" alt="red"/> here</p></html>',
                "a.xhtml": f'{PAGE}<svg xmlns:xlink="http://www.w3.org/1999/xlink">'
                '<image xlink:href="../img/red.png"/></svg></html>',
            }
        )
    )
    assert document.pages[0].endswith("\n\n[Picture 1]")
    assert document.pages[1] == "See [Picture 1 again] here"
    assert len(document.pictures) == 1


def test_notes_are_marked(read: Reader) -> None:
    chapter = (
        f'{PAGE}<p>Text<sup><a epub:type="noteref" href="#n1">1</a></sup>.</p>'
        '<aside epub:type="footnote" id="n1"><p>Die Note.</p></aside></html>'
    )
    assert read.text(files.book({"a.xhtml": chapter})).endswith("Text[^1].\n\n[^1]: Die Note.")


def test_the_declared_encoding_is_used(read: Reader) -> None:
    chapter = '<?xml version="1.0" encoding="windows-1251"?><html><p>Глава первая</p></html>'
    content = files.book({"a.xhtml": ""}, **{"OEBPS/text/a.xhtml": chapter.encode("cp1251")})
    assert read.text(content).endswith("Глава первая")


@pytest.mark.parametrize(
    ("algorithm", "is_read"),
    [
        ("http://www.idpf.org/2008/embedding", True),
        ("http://www.w3.org/2001/04/xmlenc#aes128-cbc", False),
    ],
)
def test_books_with_copy_protection_are_refused(
    read: Reader, algorithm: str, is_read: bool
) -> None:
    encryption = (
        f'<e><EncryptedData><EncryptionMethod Algorithm="{algorithm}"/></EncryptedData></e>'
    )
    content = files.book(
        {"a.xhtml": "<html>Text</html>"}, **{"META-INF/encryption.xml": encryption}
    )
    if is_read:
        assert read.text(content).endswith("Text")
    else:
        assert read.refusal(content).startswith("This EPUB file is encrypted.")


def test_a_book_without_a_package_is_damaged(read: Reader) -> None:
    content = files.build_zip(
        {"mimetype": "application/epub+zip", "META-INF/container.xml": "<a/>"}
    )
    assert read.refusal(content).startswith("This EPUB file is damaged")
