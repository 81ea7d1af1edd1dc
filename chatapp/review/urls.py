"""The addresses of the review."""

from django.urls import path

from chatapp.review import reading

urlpatterns = [path("<uuid:pk>/", reading.conversation, name="review-conversation")]
