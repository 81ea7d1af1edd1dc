"""URLs of exports."""

from django.urls import path

from chatapp.exports import chat_views, views

urlpatterns = [
    path("conversations/export/", views.export, name="export-conversations"),
    path("conversations/export/new/", views.dialog, name="new-export"),
    path("exports/", views.exports, name="exports"),
    path("exports/<uuid:pk>/download/", views.download, name="download-export"),
    path("exports/<uuid:pk>/progress/", views.progress, name="export-progress"),
    path("exports/<uuid:pk>/cancel/", views.cancel, name="cancel-export"),
    path("exports/<uuid:pk>/delete/", views.delete, name="delete-export"),
    path("c/<uuid:pk>/markdown/", chat_views.chat_markdown, name="chat-markdown"),
    path("c/<uuid:pk>/print/", chat_views.print_page, name="print-chat"),
]
