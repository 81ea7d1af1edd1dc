"""URLs of the Privacy pages."""

from django.urls import path

from chatapp.staff.privacy import archive, leaving, views

urlpatterns = [
    path("privacy/", views.privacy, name="privacy"),
    path("privacy/archive/", archive.archive, name="own-archive"),
    path("privacy/erase/", leaving.erase_all, name="erase-own"),
]
