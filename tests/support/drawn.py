"""Texts rendered in place, as the renderer's workers would."""

from django.utils.safestring import SafeString

from chatapp.rendering.markdown import as_typed, render
from chatapp.rendering.pool import Typed


def html_of(text: str | Typed) -> SafeString:
    return as_typed(text.text) if isinstance(text, Typed) else render(text)
