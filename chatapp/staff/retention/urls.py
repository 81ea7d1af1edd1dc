"""URLs of the retention page."""

from django.urls import path

from chatapp.staff.retention import views

urlpatterns = [path("retention/", views.retention, name="retention")]
