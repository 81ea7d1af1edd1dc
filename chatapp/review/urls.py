"""The addresses of the review."""

from django.urls import path

from chatapp.review import exports, labels, lists, reading

urlpatterns = [
    path("", lists.conversations, name="review"),
    path("export/", exports.export, name="review-export"),
    path("labels/", labels.labels, name="review-labels"),
    path("labels/<int:pk>/delete/", labels.delete, name="delete-review-label"),
    path("<uuid:pk>/", reading.conversation, name="review-conversation"),
]
