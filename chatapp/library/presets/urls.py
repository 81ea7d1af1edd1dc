"""URLs of the pages of presets."""

from django.urls import path

from chatapp.library.presets import transfer, versions, views

urlpatterns = [
    path("", views.presets, name="presets"),
    path("new/", views.create, name="new-preset"),
    path("export/", transfer.export_all, name="export-presets"),
    path("import/", transfer.take, name="import-presets"),
    path("<uuid:pk>/", views.preset, name="preset"),
    path("<uuid:pk>/copy/", views.copy, name="copy-preset"),
    path("<uuid:pk>/delete/", views.delete, name="delete-preset"),
    path("<uuid:pk>/restore/", views.restore, name="restore-preset"),
    path("<uuid:pk>/export/", transfer.export, name="export-preset"),
    path("<uuid:pk>/sharing/", views.sharing, name="preset-sharing"),
    path("<uuid:pk>/versions/", versions.versions, name="preset-versions"),
    path("<uuid:pk>/versions/<int:number>/", versions.version, name="preset-version"),
]
