"""Out-of-band swaps, as htmx takes them from a socket.

Styles and targets stand in htmx's own notation, in which a comma or a space ends a target.

What is swapped stands in a `template`: htmx looks for swaps anywhere in a frame, but not in there,
so that none can be hidden in the text that is swapped.
"""

ENDING = "</template>"


def swap(style: str, target: str, html: str = "") -> str:
    """A swap of `html` at the elements that the CSS selector `target` finds."""
    return f"{beginning(style, target)}{html}{ENDING}"


def beginning(style: str, target: str) -> str:
    """What stands before the HTML of such a swap."""
    return f'<template hx-swap-oob="{style} target:{target}">'


def replace(target: str, html: str) -> str:
    """Puts `html` in the place of what `target` finds."""
    return f'<template hx-swap-oob="outerHTML target:{target} strip:true">{html}</template>'
