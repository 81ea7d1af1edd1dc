"""The addresses of the review."""

from django.urls import path

from chatapp.review import deciding, exports, labels, lists, reading

urlpatterns = [
    path("", lists.conversations, name="review"),
    path("export/", exports.export, name="review-export"),
    path("labels/", labels.labels, name="review-labels"),
    path("labels/<int:pk>/delete/", labels.delete, name="delete-review-label"),
    path("<uuid:pk>/", reading.conversation, name="review-conversation"),
    path("<uuid:pk>/open/", reading.open_conversation, name="open-for-review"),
    path("<uuid:pk>/messages/<uuid:message>/", reading.raw_message, name="raw-message"),
    path("<uuid:pk>/claim/", deciding.claim, name="claim-review"),
    path("<uuid:pk>/release/", deciding.release, name="release-review"),
    path("<uuid:pk>/verdict/", deciding.verdict, name="review-verdict"),
    path("<uuid:pk>/labels/", deciding.labels, name="label-review"),
    path("<uuid:pk>/notes/", deciding.note, name="note-on-review"),
    path("<uuid:pk>/changes/", deciding.changes, name="review-changes"),
]
