"""Addresses of the chat."""

from django.urls import path

from chatapp.chat import keeping, sidebar, views

urlpatterns = [
    path("", views.chat, name="chat"),
    path("c/<uuid:pk>/", views.conversation, name="conversation"),
    path("c/<uuid:pk>/rename/", keeping.rename, name="rename-conversation"),
    path("c/<uuid:pk>/delete/", keeping.delete, name="delete-conversation"),
    path("models/", views.models, name="models"),
    path("conversations/", sidebar.conversations, name="conversations"),
    path("replies/<uuid:pk>/confidence/", views.confidence, name="confidence"),
    path("replies/<uuid:pk>/markdown/", views.reply_markdown, name="reply-markdown"),
    path("replies/<uuid:pk>/images/<int:position>/", views.reply_image, name="reply-image"),
    path("help/", views.help_page, name="help"),
]
