"""The URL of the search page."""

from django.urls import path

from chatapp.search import views

urlpatterns = [path("search/", views.search, name="search")]
