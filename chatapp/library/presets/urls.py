"""URLs of the pages of presets."""

from django.urls import path

from chatapp.library import transfer
from chatapp.library.presets import versions
from chatapp.library.presets.kind import PRESETS
from chatapp.library.urls import build_urls

urlpatterns = [
    *build_urls(PRESETS),
    path("<uuid:pk>/export/", transfer.export, {"kind": PRESETS}, name="export-preset"),
    path("<uuid:pk>/versions/<int:number>/", versions.version, name="preset-version"),
]
