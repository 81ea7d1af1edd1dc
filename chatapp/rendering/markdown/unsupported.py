"""The one error of what turns TeX into MathML."""


class Unsupported(ValueError):
    """Raised for a formula that is to be shown as it was written."""
