"""Out-of-band swaps in the form that htmx accepts from a socket.

Styles and targets use htmx's notation, in which a comma or a space ends a target.

The HTML is wrapped in a `template`. htmx looks for swaps everywhere in a frame except inside a
template, so foreign text cannot smuggle in a swap of its own.
"""

ENDING = "</template>"


def swap(style: str, target: str, html: str = "") -> str:
    """Return a swap of `html` at the elements that the CSS selector `target` matches."""
    return f"{beginning(style, target)}{html}{ENDING}"


def beginning(style: str, target: str) -> str:
    """Return the part of such a swap that comes before the HTML."""
    return f'<template hx-swap-oob="{style} target:{target}">'


def replace(target: str, html: str) -> str:
    """Return a swap that replaces the elements that `target` matches with `html`."""
    return f'<template hx-swap-oob="outerHTML target:{target} strip:true">{html}</template>'
