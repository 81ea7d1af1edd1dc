"""Static files, by whitenoise."""

import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, Storage
from django.http import HttpRequest, HttpResponse
from rjsmin import jsmin
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

from chatapp.server.middleware import bundles

SCRIPTS = "js/*.js"
BUNDLES = {"js/chat.js": bundles.scripts, "css/chat.css": bundles.styles}
# Of our style sheets: comments, and how lines are set. `rcssmin` takes away spaces that combine.
LAYOUT = (("css/*.css", ((r"(?s) *\s/\*.*?\*/", ""), (r"(?s)\A/\*.*?\*/", ""), (r"(?m)^\s+", ""))),)
Sources = dict[str, tuple[Storage, str]]  # by name: where, and under which path


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Files under names with their hash, by which scripts of the page import one another too; ours
    without what only people read, which would be a quarter of what a browser fetches, and the
    entries of `BUNDLES` with what they import."""

    support_js_module_import_aggregation = True
    patterns = CompressedManifestStaticFilesStorage.patterns + LAYOUT

    def post_process(
        self, paths: Sources, dry_run: bool = False, **options: Any
    ) -> Iterator[tuple[str, str, bool]]:
        yield from super().post_process(paths | _made(paths), dry_run=dry_run, **options)

    def url_converter(
        self, name: str, hashed_files: dict[str, str], template: str | None = None
    ) -> Callable[[re.Match[str]], str]:
        if template == "":  # of layout
            return lambda _match: ""
        converter: Callable[[re.Match[str]], str]
        converter = super().url_converter(name, hashed_files, template)
        return converter


def _made(sources: Sources) -> Sources:
    """The entries, each as one file, and our other scripts; without what only people read."""

    def read(name: str) -> str:
        storage, path = sources[name]
        with storage.open(path) as file:
            content: bytes = file.read()
        return content.decode()

    memory = InMemoryStorage()
    made = {name: read(name) for name in sources if fnmatchcase(name, SCRIPTS)}
    for entry, bundle in BUNDLES.items():
        made |= bundle(entry, read)
    for name, text in made.items():
        content = jsmin(text) if fnmatchcase(name, SCRIPTS) else text
        memory.save(name, ContentFile(content.encode()))
    return {name: (memory, name) for name in made}


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]
    """Whitenoise, with each answer whole: it streams from a synchronous iterator otherwise, which
    Django under ASGI must first copy, with a warning, in another thread."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        content = b""
        if found.file is not None:
            with found.file as file:
                content = file.read()
        response = HttpResponse(content, status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            response[name] = value
        return response
