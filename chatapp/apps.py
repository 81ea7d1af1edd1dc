"""The Django app configuration."""

from django.apps import AppConfig


class ChatappConfig(AppConfig):
    name = "chatapp"

    def ready(self) -> None:
        # Signal receivers and kinds of jobs.
        from chatapp.accounts import auditing, revocations  # noqa: F401
        from chatapp.exports import jobs as export_jobs  # noqa: F401
        from chatapp.imports import jobs as import_jobs  # noqa: F401
