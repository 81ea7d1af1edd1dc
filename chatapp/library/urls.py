"""URLs that each kind of items has."""

from typing import Any

from django.urls import URLPattern, path

from chatapp.library import sharing, transfer, versions, views
from chatapp.library.kinds import Kind


def build_urls(kind: Kind[Any]) -> list[URLPattern]:
    name, plural, extra = kind.name, kind.plural, {"kind": kind}
    return [
        path("", views.items, extra, name=plural),
        path("new/", views.create, extra, name=f"new-{name}"),
        path("export/", transfer.export_all, extra, name=f"export-{plural}"),
        path("import/", transfer.import_file, extra, name=f"import-{plural}"),
        path("<uuid:pk>/", views.item, extra, name=name),
        path("<uuid:pk>/copy/", views.copy, extra, name=f"copy-{name}"),
        path("<uuid:pk>/delete/", views.delete, extra, name=f"delete-{name}"),
        path("<uuid:pk>/restore/", views.restore, extra, name=f"restore-{name}"),
        path("<uuid:pk>/sharing/", sharing.sharing, extra, name=f"{name}-sharing"),
        path("<uuid:pk>/versions/", versions.versions, extra, name=f"{name}-versions"),
    ]
