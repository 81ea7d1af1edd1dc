"""URLs of the installation's colour and logo."""

from django.urls import path

from chatapp.staff.branding import views

urlpatterns = [
    path("branding/accent.css", views.accent, name="accent"),
    path("branding/logo", views.logo, name="logo"),
]
