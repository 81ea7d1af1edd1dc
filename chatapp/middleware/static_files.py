"""Static files, by whitenoise."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, Storage
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

from chatapp.middleware import bundles

BUNDLES = {"js/chat.js": bundles.scripts, "css/chat.css": bundles.styles}
# Of ours: comments, and how lines are set. No string of ours stands over lines or holds ` // `.
LAYOUT = (
    ("js/*.js", ((r"(?m)^ *//.*\n", ""), (r"(?m) +// .*$", ""), (r"(?m)^\s+", ""))),
    ("css/*.css", ((r"(?s) *\s/\*.*?\*/", ""), (r"(?s)\A/\*.*?\*/", ""), (r"(?m)^\s+", ""))),
)
Sources = dict[str, tuple[Storage, str]]  # by name: where, and under which path


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Files under names with their hash, by which scripts of the page import one another too; ours
    without their comments and indentation, which would be a sixth of what a browser fetches, and
    the entries of `BUNDLES` with what they import."""

    support_js_module_import_aggregation = True
    patterns = CompressedManifestStaticFilesStorage.patterns + LAYOUT

    def post_process(
        self, paths: Sources, dry_run: bool = False, **options: Any
    ) -> Iterator[tuple[str, str, bool]]:
        yield from super().post_process(paths | _bundled(paths), dry_run=dry_run, **options)

    def url_converter(
        self, name: str, hashed_files: dict[str, str], template: str | None = None
    ) -> Callable[[re.Match[str]], str]:
        if template == "":  # of layout
            return lambda _match: ""
        converter: Callable[[re.Match[str]], str]
        converter = super().url_converter(name, hashed_files, template)
        return converter


def _bundled(sources: Sources) -> Sources:
    """The entries, each as one file."""

    def read(name: str) -> str:
        storage, path = sources[name]
        with storage.open(path) as file:
            content: bytes = file.read()
        return content.decode()

    memory = InMemoryStorage()
    made = {
        name: text
        for entry, bundle in BUNDLES.items()
        for name, text in bundle(entry, read).items()
    }
    for name, text in made.items():
        memory.save(name, ContentFile(text.encode()))
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
