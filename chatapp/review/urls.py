"""The addresses of the review."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
