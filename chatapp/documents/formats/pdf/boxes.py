"""Boxes on a page; y grows upwards."""

from typing import NamedTuple

Corners = tuple[float, float, float, float]  # left, bottom, right and top


class Box(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float


def turn_corners(corners: Corners, turn: int) -> Corners:
    """Return a box as it is after the page is turned by so many quarters, anticlockwise."""
    left, bottom, right, top = corners
    return (
        corners,
        (-top, left, -bottom, right),
        (-right, -top, -left, -bottom),
        (bottom, -right, top, -left),
    )[turn % 4]
