"""URLs of the prompt library."""

from django.urls import path

from chatapp.library import composer, sharing, transfer, versions, views

urlpatterns = [
    path("", views.prompts, name="prompts"),
    path("new/", views.create, name="new-prompt"),
    path("index/", composer.index, name="prompt-index"),
    path("commands/", composer.commands, name="prompt-commands"),
    path("forget/", views.forget, name="forget-values"),
    path("export/", transfer.export, name="export-prompts"),
    path("import/", transfer.take, name="import-prompts"),
    path("<uuid:pk>/", views.prompt, name="prompt"),
    path("<uuid:pk>/copy/", views.copy, name="copy-prompt"),
    path("<uuid:pk>/delete/", views.delete, name="delete-prompt"),
    path("<uuid:pk>/restore/", views.restore, name="restore-prompt"),
    path("<uuid:pk>/versions/", versions.versions, name="prompt-versions"),
    path("<uuid:pk>/sharing/", sharing.sharing, name="prompt-sharing"),
    path("<uuid:pk>/use/", composer.use, name="use-prompt"),
    path("<uuid:pk>/fill/", composer.fill_in, name="fill-prompt"),
]
