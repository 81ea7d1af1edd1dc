"""URLs of the pages of prompts, and of what the composer asks for."""

from django.urls import path

from chatapp.library.prompts import composer
from chatapp.library.prompts.kind import PROMPTS
from chatapp.library.urls import build_urls

urlpatterns = [
    *build_urls(PROMPTS),
    path("index/", composer.index, name="prompt-index"),
    path("commands/", composer.commands, name="prompt-commands"),
    path("forget/", composer.forget, name="forget-values"),
    path("<uuid:pk>/use/", composer.use, name="use-prompt"),
    path("<uuid:pk>/fill/", composer.fill_in, name="fill-prompt"),
]
