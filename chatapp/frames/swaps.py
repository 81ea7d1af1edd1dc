"""Out-of-band swaps, as htmx takes them from a socket.

Styles and targets stand in htmx's own notation, in which a comma or a space ends a target.
"""


def swap(style: str, target: str, html: str = "") -> str:
    """A swap of `html` at the elements that the CSS selector `target` finds.

    The wrapper is a `div`, since most frames are a few characters long, except where the parser
    would drop what only stands in a table.
    """
    wrapper = "template" if html.startswith("<t") else "div"
    return f'<{wrapper} hx-swap-oob="{style} target:{target}">{html}</{wrapper}>'


def replace(target: str, html: str) -> str:
    """Puts `html` in the place of what `target` finds."""
    return f'<template hx-swap-oob="outerHTML target:{target} strip:true">{html}</template>'
