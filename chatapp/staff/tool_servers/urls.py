"""URLs of the pages of tool servers."""

from django.urls import path

from chatapp.staff.tool_servers import views

urlpatterns = [
    path("settings/tools/", views.tool_servers, name="tool-servers"),
    path("settings/tools/new/", views.tool_server, name="new-tool-server"),
    path("settings/tools/<int:pk>/", views.tool_server, name="tool-server"),
    path("settings/tools/<int:pk>/tools/", views.offered_tools, name="tools-of-server"),
    path("settings/tools/<int:pk>/delete/", views.delete, name="delete-tool-server"),
]
