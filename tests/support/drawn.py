"""Texts rendered in place, as the renderer's workers would."""

from django.utils.safestring import SafeString

from chatapp.rendering.markdown import render, render_typed
from chatapp.rendering.pool import Typed


def render_html(text: str | Typed) -> SafeString:
    return render_typed(text.text) if isinstance(text, Typed) else render(text)
