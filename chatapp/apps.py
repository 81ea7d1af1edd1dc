"""The app, as Django loads it."""

from django.apps import AppConfig


class ChatappConfig(AppConfig):
    name = "chatapp"

    def ready(self) -> None:
        from chatapp.accounts import revocations  # noqa: F401 - it listens
