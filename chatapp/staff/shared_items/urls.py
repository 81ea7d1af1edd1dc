"""URLs of the page of shared items."""

from django.urls import path

from chatapp.staff.shared_items import views

urlpatterns = [
    path("settings/shared/", views.shared_items, name="shared-items"),
    path("settings/shared/projects/stop/", views.stop_project, name="stop-sharing-project"),
    path("settings/shared/stop/", views.stop, name="stop-sharing"),
    path("settings/shared/<uuid:pk>/revoke/", views.revoke, name="revoke-any-shared-link"),
]
