"""URLs that suggest what a field may name."""

from django.urls import path

from chatapp.staff.pickers import views

urlpatterns = [
    path("people/", views.people, name="pick-people"),
    path("models/", views.models, name="pick-models"),
    path("chats/<int:pk>/", views.chats, name="pick-chats"),
]
