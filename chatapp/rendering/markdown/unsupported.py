"""The error raised when TeX can't be converted to MathML."""


class Unsupported(ValueError):
    """Raised for a formula that must be shown as its source."""
