"""URLs of the review policy page."""

from django.urls import path

from chatapp.staff.policy import views

urlpatterns = [path("policy/", views.policy, name="policy")]
