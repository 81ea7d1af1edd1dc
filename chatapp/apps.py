"""The Django app configuration."""

from django.apps import AppConfig
from django.utils.functional import lazy


def _name() -> str:
    """Return the branded name, for the admin's pages."""
    from chatapp.models.platform import branding

    return branding.get_branding().name


class ChatappConfig(AppConfig):
    name = "chatapp"
    verbose_name = lazy(_name, str)()

    def ready(self) -> None:
        # Signal receivers, kinds of jobs, and the admin's pages, which Django looks for in
        # `chatapp.admin` alone.
        from chatapp.accounts import auditing, revocations  # noqa: F401
        from chatapp.exports import jobs as export_jobs  # noqa: F401
        from chatapp.imports import jobs as import_jobs  # noqa: F401
        from chatapp.staff import admin  # noqa: F401
