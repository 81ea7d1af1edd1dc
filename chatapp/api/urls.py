"""URLs of the API."""

from django.urls import path

from chatapp.api import views

urlpatterns = [
    path("models", views.models, name="api-models"),
    path("models/<path:name>", views.model, name="api-model"),
    path("chat/completions", views.chat_completions, name="api-chat-completions"),
    path("", views.not_found),
    path("<path:rest>", views.not_found, name="api-not-found"),
]
