"""URLs of the review."""

from django.urls import path

from chatapp.staff.review import people
from chatapp.staff.review.lists import bulk, exports, lists, saved_views, searching
from chatapp.staff.review.reading import decision_views, reading
from chatapp.staff.review.rules import labels, rules

urlpatterns = [
    path("", lists.conversations, name="review"),
    path("people/", people.people, name="review-people"),
    path("export/", exports.export, name="review-export"),
    path("search/", searching.search, name="search-review"),
    path("bulk/", bulk.bulk, name="review-in-bulk"),
    path("views/save/", saved_views.save_view, name="save-review-view"),
    path("views/<int:pk>/delete/", saved_views.delete_view, name="delete-review-view"),
    path("samples/draw/", saved_views.draw_sample, name="draw-review-sample"),
    path("samples/<int:pk>/delete/", saved_views.delete_sample, name="delete-review-sample"),
    path("rules/", rules.rules, name="review-rules"),
    path("rules/add/", rules.add, name="add-review-rule"),
    path("rules/<int:pk>/", rules.change, name="change-review-rule"),
    path("rules/<int:pk>/switch/", rules.switch, name="switch-review-rule"),
    path("rules/<int:pk>/delete/", rules.delete, name="delete-review-rule"),
    path("labels/", labels.labels, name="review-labels"),
    path("labels/<int:pk>/delete/", labels.delete, name="delete-review-label"),
    path("<uuid:pk>/", reading.conversation, name="review-conversation"),
    path("<uuid:pk>/open/", reading.open_conversation, name="open-for-review"),
    path("<uuid:pk>/reveal/", reading.reveal, name="reveal-for-review"),
    path("<uuid:pk>/messages/<uuid:message>/", reading.raw_message, name="raw-message"),
    path("<uuid:pk>/claim/", decision_views.claim, name="claim-review"),
    path("<uuid:pk>/release/", decision_views.release, name="release-review"),
    path("<uuid:pk>/verdict/", decision_views.verdict, name="review-verdict"),
    path("<uuid:pk>/labels/", decision_views.labels, name="label-review"),
    path("<uuid:pk>/notes/", decision_views.note, name="note-on-review"),
    path("<uuid:pk>/changes/", decision_views.changes, name="review-changes"),
]
