"""Makes an accent colour readable in both themes. Pure functions.

Colours are `#rrggbb`. Contrast is that of WCAG 2.2
(https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio), and lightness that of OKLab
(https://bottosson.github.io/posts/oklab/), as in static/css.
"""

import re
from dataclasses import dataclass
from itertools import count
from math import cos, radians, sin

MIN_CONTRAST = 4.5  # for text at WCAG level AA
STEP = 0.005  # of lightness, from 0 to 1
COLOUR = re.compile(r"#[0-9a-f]{6}")

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Theme:
    """The colours around an accent, each as lightness in per cent, chroma and hue."""

    grounds: tuple[Triple, ...]  # its backgrounds: --page, --raised, --sunken, --bubble
    text: Triple  # the text on it: --on-accent
    way: int  # the direction of more contrast: 1 is lighter, -1 darker


LIGHT = Theme(
    ((98.7, 0.005, 85), (100, 0, 0), (96.2, 0.009, 85), (94.3, 0.014, 85)), (99, 0.005, 85), -1
)
DARK = Theme(
    ((20.5, 0.005, 75), (24.5, 0.006, 75), (17.5, 0.004, 75), (29, 0.011, 75)), (20, 0.02, 195), 1
)


def contrast(colour: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21."""
    darker, lighter = sorted((_luminance(_linear(colour)), _luminance(_linear(other))))
    return (lighter + 0.05) / (darker + 0.05)


def is_readable(colour: str, theme: Theme) -> bool:
    """Whether the colour is readable on the theme's backgrounds, and the theme's text on it."""
    around = (_convert_oklch(oklch) for oklch in (*theme.grounds, theme.text))
    return all(contrast(colour, other) >= MIN_CONTRAST for other in around)


def make_readable(colour: str, theme: Theme) -> str:
    """Return the colour, made lighter or darker only as far as the theme needs."""
    lightness, a, b = _oklab(_linear(colour))
    moved = colour
    for steps in count(1):  # ends at white or black at the latest, which are always readable
        if is_readable(moved, theme):
            break
        moved = _hex(_from_oklab((lightness + theme.way * STEP * steps, a, b)))
    return moved


def _convert_oklch(oklch: Triple) -> str:
    lightness, chroma, hue = oklch
    turned = radians(hue)
    return _hex(_from_oklab((lightness / 100, chroma * cos(turned), chroma * sin(turned))))


def _linear(colour: str) -> Triple:
    """Convert sRGB to linear light, each component from 0 to 1."""
    values = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        component / 12.92 if component <= 0.04045 else ((component + 0.055) / 1.055) ** 2.4
        for component in values
    )
    return red, green, blue


def _hex(linear: Triple) -> str:
    """Convert linear light to `#rrggbb`, clipped to what a screen can show."""
    within = (min(max(component, 0.0), 1.0) for component in linear)
    values = (
        12.92 * component if component <= 0.0031308 else 1.055 * component ** (1 / 2.4) - 0.055
        for component in within
    )
    return "#" + "".join(f"{round(component * 255):02x}" for component in values)


def _luminance(linear: Triple) -> float:
    return _product((0.2126, 0.7152, 0.0722), linear)


def _oklab(linear: Triple) -> Triple:
    long = _product((0.4122214708, 0.5363325363, 0.0514459929), linear) ** (1 / 3)
    medium = _product((0.2119034982, 0.6806995451, 0.1073969566), linear) ** (1 / 3)
    short = _product((0.0883024619, 0.2817188376, 0.6299787005), linear) ** (1 / 3)
    return (
        _product((0.2104542553, 0.7936177850, -0.0040720468), (long, medium, short)),
        _product((1.9779984951, -2.4285922050, 0.4505937099), (long, medium, short)),
        _product((0.0259040371, 0.7827717662, -0.8086757660), (long, medium, short)),
    )


def _from_oklab(lab: Triple) -> Triple:
    long = _product((1, 0.3963377774, 0.2158037573), lab) ** 3
    medium = _product((1, -0.1055613458, -0.0638541728), lab) ** 3
    short = _product((1, -0.0894841775, -1.2914855480), lab) ** 3
    return (
        _product((4.0767416621, -3.3077115913, 0.2309699292), (long, medium, short)),
        _product((-1.2684380046, 2.6097574011, -0.3413193965), (long, medium, short)),
        _product((-0.0041960863, -0.7034186147, 1.7076147010), (long, medium, short)),
    )


def _product(weights: Triple, components: Triple) -> float:
    return sum(a * b for a, b in zip(weights, components, strict=True))
