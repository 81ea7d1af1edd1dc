"""Accents are readable in both themes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatapp.models.platform.colours import (
    COLOUR,
    DARK,
    LIGHT,
    Theme,
    Triple,
    contrast,
    is_readable,
    make_readable,
)
from tests.support.live import ROOT

COLOURS = st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")


@pytest.mark.parametrize(
    ("colour", "other", "ratio"),
    [("#000000", "#ffffff", 21), ("#777777", "#ffffff", 4.48), ("#ff0000", "#0000ff", 2.15)],
)
def test_contrast_is_that_of_wcag(colour: str, other: str, ratio: float) -> None:
    assert contrast(colour, other) == contrast(other, colour) == pytest.approx(ratio, abs=0.005)


@given(colour=COLOURS)
def test_each_theme_makes_any_colour_readable(colour: str) -> None:
    for theme in (LIGHT, DARK):
        result = make_readable(colour, theme)
        assert COLOUR.fullmatch(result)
        assert is_readable(result, theme)
        assert result == colour or not is_readable(colour, theme)


def test_a_colour_keeps_its_hue() -> None:
    assert make_readable("#7a1fa2", LIGHT) == "#7a1fa2"
    dark = make_readable("#7a1fa2", DARK)
    red, green, blue = (int(dark[at : at + 2], 16) for at in (1, 3, 5))
    assert blue > red > green


@pytest.mark.parametrize("colour", ["#ffff00", "#ffffff", "#00ff00", "#ff8c00"])
def test_a_light_colour_is_not_readable_on_a_light_page(colour: str) -> None:
    assert not is_readable(colour, LIGHT)
    assert is_readable(colour, DARK)


@pytest.mark.parametrize(("theme", "column"), [(LIGHT, 0), (DARK, 1)])
def test_the_themes_match_the_style_sheet(theme: Theme, column: int) -> None:
    sheet = (ROOT / "static/css/base/palette.css").read_text()
    names = ("page", "raised", "sunken", "bubble", "on-accent")
    assert [_read_values(sheet, name)[column] for name in names] == [*theme.grounds, theme.text]


def _read_values(sheet: str, name: str) -> list[Triple]:
    """Return the light and the dark value of a custom property."""
    [line] = re.findall(rf"--{name}: light-dark\(.*", sheet)
    matches = re.findall(r"oklch\(([\d.]+)% ([\d.]+) ([\d.]+)\)", line)
    return [(float(lightness), float(chroma), float(hue)) for lightness, chroma, hue in matches]
