"""URLs of shared chats: of their owners, and of their readers."""

from django.urls import path

from chatapp.sharing import copies, files, links, project_chats, views

urlpatterns = [
    path("c/<uuid:pk>/share/", links.share, name="share-chat"),
    path("shared-links/", links.links, name="shared-links"),
    path("shared-links/<uuid:pk>/revoke/", links.revoke, name="revoke-shared-link"),
    path("shared-links/<uuid:pk>/renew/", links.renew, name="renew-shared-link"),
    *(
        path(f"projects/<uuid:pk>/c/<uuid:chat>/{under}", view, name=name)
        for under, view, name in project_chats.PAGES
    ),
    path("s/<str:token>/", views.page, name="shared-chat"),
    path("s/<str:token>/earlier/<uuid:message>/", views.earlier, name="shared-earlier"),
    path("s/<str:token>/copy/", copies.copy, name="copy-shared-chat"),
    path("s/<str:token>/files/<uuid:pk>/", files.file, name="shared-file"),
    path("s/<str:token>/files/<uuid:pk>/image/", files.image, name="shared-file-image"),
    path("s/<str:token>/files/<uuid:pk>/thumbnail/", files.thumbnail, name="shared-thumbnail"),
    path(
        "s/<str:token>/images/<uuid:reply>/<int:position>/", files.reply_image, name="shared-image"
    ),
    path("s/<str:token>/<path:rest>", views.nothing),  # last: with the headers of the others
]
