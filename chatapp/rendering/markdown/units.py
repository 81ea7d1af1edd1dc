r"""Translates numbers and units in siunitx's and mhchem's commands to plain TeX.

`\SI{3e8}{\meter\per\second}` becomes `3\times 10^{8}\,\mathrm{m}\,\mathrm{s}^{-1}`. Unknown units
raise `Unsupported`.
"""

import re

from .unsupported import Unsupported

# fmt: off
_UNITS = {
    "meter": "m", "metre": "m", "second": "s", "gram": "g", "kilogram": "kg", "ampere": "A",
    "kelvin": "K", "mole": "mol", "candela": "cd", "newton": "N", "joule": "J", "watt": "W",
    "volt": "V", "ohm": "Ω", "hertz": "Hz", "pascal": "Pa", "coulomb": "C", "farad": "F",
    "henry": "H", "tesla": "T", "weber": "Wb", "siemens": "S", "liter": "L", "litre": "L",
    "hour": "h", "minute": "min", "day": "d", "electronvolt": "eV", "bar": "bar", "percent": r"\%",
    "degree": r"{}^{\circ}", "celsius": r"{}^{\circ}C", "degreeCelsius": r"{}^{\circ}C",
    "bit": "bit", "byte": "B", "radian": "rad", "becquerel": "Bq", "gray": "Gy", "sievert": "Sv",
    "angstrom": "Å", "dalton": "Da", "tonne": "t", "lumen": "lm", "lux": "lx",
}
_PREFIXES = {
    "kilo": "k", "mega": "M", "giga": "G", "tera": "T", "centi": "c", "milli": "m", "micro": "µ",
    "nano": "n", "pico": "p", "femto": "f", "deci": "d", "hecto": "h",
}
_POWERS = {"squared": 2, "cubed": 3}
_POWERS_BEFORE = {"square": 2, "cubic": 3}
# fmt: on
_NUMBER = re.compile(r"([+-]?[\d.,]*)(?:[eE]([+-]?\d+))?(?:(?:\+-|\\pm)([\d.]+))?")
_COMMAND = re.compile(r"\\([A-Za-z]+)\s*(?:\{(-?\d+)\})?|([.~\s])")
_PLAIN = re.compile(r"[A-Za-zµΩÅ°%/*.·^{}()\d\s-]*")
_EXPONENT = re.compile(r"(?<=[A-Za-zΩÅ)])\^?\{?(-?\d+)\}?")
_BETWEEN_SYMBOLS = re.compile(r"[*.·~\s]+")
_THIN_SPACE = r"\,"
_AMOUNT = re.compile(r"\s*([+-]?[\d.,]+(?:[eE][+-]?\d+)?)?\s*(.*)", re.DOTALL)


def number(text: str) -> str:
    """Return what `\\num` shows."""
    match = _NUMBER.fullmatch(text.replace(" ", "").replace("−", "-"))
    if match is None:
        raise Unsupported(text)
    digits, exponent, spread = match.groups()
    tex = digits.replace(",", "{,}")
    if spread:
        tex += rf"\pm {spread}"
    if exponent:
        tex += (r"\times " if digits else "") + f"10^{{{int(exponent)}}}"
    return tex


def unit(text: str) -> str:
    """Return what `\\unit` shows for unit names or plain symbols."""
    return _format_names(text) if "\\" in text else _format_symbols(text)


def quantity(amount: str, units: str) -> str:
    """Return what `\\qty` shows."""
    return f"{{{number(amount)}\\,{unit(units)}}}"


def physical_unit(text: str) -> str:
    """Return what mhchem's `\\pu` shows: an amount, a unit, or both."""
    match = _AMOUNT.fullmatch(text)
    assert match
    amount, units = match.groups()
    if not amount:
        return _format_symbols(units)
    return quantity(amount, units) if units else number(amount)


def angle(degrees: str) -> str:
    """Return what `\\ang` shows for whole degrees."""
    return number(degrees) + r"^{\circ}"


def _format_symbols(text: str) -> str:
    if not _PLAIN.fullmatch(text):
        raise Unsupported(text)
    tex = _EXPONENT.sub(r"^{\1}", text.strip()).replace("%", r"\%").replace("°", r"{}^{\circ}")
    return rf"\mathrm{{{_BETWEEN_SYMBOLS.sub(lambda _: _THIN_SPACE, tex)}}}"


def _format_names(text: str) -> str:
    parts: list[str] = []
    prefix, power, at = "", 1, 0
    for match in _COMMAND.finditer(text):
        if match.start() != at:
            raise Unsupported(text)
        name, exponent, at = match[1], match[2], match.end()
        if name is None:
            continue
        if name == "per":
            power = -abs(power)
        elif name in _PREFIXES:
            prefix = _PREFIXES[name]
        elif name in _POWERS_BEFORE:
            power *= _POWERS_BEFORE[name]
        elif name in _POWERS or (name == "tothe" and exponent):
            _raise_last(parts, _POWERS.get(name) or int(exponent))
        elif name in _UNITS:
            parts.append(rf"\mathrm{{{prefix}{_UNITS[name]}}}" + _power(power))
            prefix, power = "", 1
        else:
            raise Unsupported(name)
    if at != len(text):
        raise Unsupported(text)
    return _THIN_SPACE.join(parts)


def _raise_last(parts: list[str], power: int) -> None:
    if not parts:
        raise Unsupported("a power without a unit")
    base = parts[-1].removesuffix(_power(-1))
    parts[-1] = base + _power(power if base == parts[-1] else -power)


def _power(power: int) -> str:
    return "" if power == 1 else f"^{{{power}}}"
