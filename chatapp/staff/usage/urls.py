"""URLs of the usage pages."""

from django.urls import path

from chatapp.staff.usage import views

urlpatterns = [
    path("usage/", views.usage, name="usage"),
    path("usage/me/", views.own, name="own-usage"),
    path("c/<uuid:pk>/usage/", views.conversation, name="conversation-usage"),
]
