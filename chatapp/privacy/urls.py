"""Addresses of the room."""

from django.urls import path

from chatapp.privacy import archive, views

urlpatterns = [
    path("privacy/", views.privacy, name="privacy"),
    path("privacy/archive/", archive.archive, name="own-archive"),
]
