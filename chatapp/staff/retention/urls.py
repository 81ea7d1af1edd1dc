"""The address of what is set of retention."""

from django.urls import path

from chatapp.staff.retention import views

urlpatterns = [path("retention/", views.retention, name="retention")]
