"""The app, as Django loads it."""

from django.apps import AppConfig
from django.utils.functional import lazy


def _name() -> str:
    """As the administration's pages have it, whoever's the app is."""
    from chatapp.models import branding

    return branding.known().name


class ChatappConfig(AppConfig):
    name = "chatapp"
    verbose_name = lazy(_name, str)()

    def ready(self) -> None:
        from chatapp.accounts import auditing, revocations  # noqa: F401 - they listen
