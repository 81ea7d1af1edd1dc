"""URLs of exports."""

from django.urls import path

from chatapp.exports import views

urlpatterns = [
    path("conversations/export/", views.export, name="export-conversations"),
]
