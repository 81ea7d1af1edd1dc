"""File names in archives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.exports.names import MAX_BYTES, UniqueNames, safe_name


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("Stars", "Stars"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("C:\\temp\\x.txt", "C__temp_x.txt"),
        (".hidden", "hidden"),
        ("dots... ", "dots"),
        ("CON", "_CON"),
        ("aux.tar.gz", "_aux.tar.gz"),
        ("console.log", "console.log"),
        ("", "Untitled"),
        ("///", "Untitled"),
        ("\u202etxt.exe\u0000", "txt.exe"),
        ("line\nbreak\ttab", "linebreaktab"),
        ("Цветы 🌷", "Цветы 🌷"),
    ],
)
def test_names_are_safe_on_every_system(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@given(st.text(max_size=300))
def test_every_name_fits_and_is_a_single_part_of_a_path(name: str) -> None:
    safe = safe_name(name)
    assert 0 < len(safe.encode()) <= MAX_BYTES + 1
    assert not set(safe) & set('<>:"|?*/\\\0\n')
    assert safe.strip(". ") == safe
    assert safe_name(safe) == safe


def test_a_long_name_keeps_its_suffix() -> None:
    assert safe_name("é" * 300 + ".pdf").endswith("é.pdf")


def test_names_that_differ_by_case_only_are_numbered() -> None:
    names = UniqueNames()
    assert [names.reserve(name) for name in ("a.txt", "A.txt", "a.txt", "a (2).txt")] == [
        "a.txt",
        "A (2).txt",
        "a (3).txt",
        "a (2) (2).txt",
    ]
