from django.urls import path

from chatapp.imports import uploads, views

urlpatterns = [
    path("", views.imports, name="imports"),
    path("upload/", uploads.begin, name="begin-import-upload"),
    path("files/<uuid:pk>/part/", uploads.receive, name="import-file-part"),
    path("read/<uuid:batch>/", uploads.finish, name="read-import"),
    path("<uuid:pk>/", views.show_import, name="import"),
    path("<uuid:pk>/progress/", views.progress, name="import-progress"),
    path("<uuid:pk>/start/", views.start, name="start-import"),
    path("<uuid:pk>/cancel/", views.cancel, name="cancel-import"),
    path("<uuid:pk>/discard/", views.discard, name="discard-import"),
    path("<uuid:pk>/retry/", views.retry, name="retry-import"),
    path("<uuid:pk>/undo/", views.undo, name="undo-import"),
]
