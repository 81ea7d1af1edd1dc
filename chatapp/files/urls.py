"""URLs of attached files."""

from django.urls import path

from chatapp.files import serving, texts, uploads, viewing

urlpatterns = [
    path("", uploads.begin, name="new-file"),
    path("draft/", uploads.draft, name="draft-files"),
    path("viewer/", viewing.viewer, name="file-viewer"),
    path("<uuid:pk>/", serving.download, name="file"),
    path("<uuid:pk>/part/", uploads.receive, name="file-part"),
    path("<uuid:pk>/retry/", uploads.retry, name="retry-file"),
    path("<uuid:pk>/remove/", uploads.remove, name="remove-file"),
    path("<uuid:pk>/pages/", uploads.choose_pages, name="file-pages"),
    path("<uuid:pk>/describe/", uploads.describe, name="describe-file"),
    path("<uuid:pk>/image/", serving.image, name="file-image"),
    path("<uuid:pk>/thumbnail/", serving.thumbnail, name="file-thumbnail"),
    path("<uuid:pk>/text/", texts.text, name="file-text"),
    path("<uuid:pk>/page/<int:position>/", serving.page_image, name="file-page"),
    path("<uuid:pk>/drawn/<int:number>/", viewing.drawn_page, name="drawn-page"),
]
