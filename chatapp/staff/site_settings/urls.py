"""URLs of the settings page."""

from django.urls import path

from chatapp.staff.site_settings import views

urlpatterns = [path("settings/", views.settings, name="settings")]
