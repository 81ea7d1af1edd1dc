"""URLs of the audit log."""

from django.urls import path

from chatapp.staff.audit import views

urlpatterns = [
    path("", views.log, name="audit"),
    path("actions/", views.suggest_actions, name="audit-actions"),
    path("check/", views.check, name="audit-check"),
    path("export/", views.export, name="audit-export"),
]
