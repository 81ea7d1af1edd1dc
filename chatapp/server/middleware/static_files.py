"""Static files, served by WhiteNoise: hashed names, bundles, and no comments."""

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
BUNDLES = {
    "js/chat.js": bundles.scripts,
    "css/chat.css": bundles.styles,
    "css/messages.css": bundles.styles,
    "css/pages.css": bundles.styles,
}
# Comments and indentation in our style sheets. Not by `rcssmin`, which removes combinator spaces.
LAYOUT = (("css/*.css", ((r"(?s) *\s/\*.*?\*/", ""), (r"(?s)\A/\*.*?\*/", ""), (r"(?m)^\s+", ""))),)
Sources = dict[str, tuple[Storage, str]]  # by name: the storage and the path in it


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Storage that puts a hash into each file's name, and into the imports between scripts.

    Our files lose comments and indentation, a quarter of what a browser would fetch, and the
    entries of `BUNDLES` contain what they import.
    """

    support_js_module_import_aggregation = True
    patterns = CompressedManifestStaticFilesStorage.patterns + LAYOUT

    def post_process(
        self, paths: Sources, dry_run: bool = False, **options: Any
    ) -> Iterator[tuple[str, str, bool]]:
        yield from super().post_process(paths | _bundle_sources(paths), dry_run=dry_run, **options)

    def url_converter(
        self, name: str, hashed_files: dict[str, str], template: str | None = None
    ) -> Callable[[re.Match[str]], str]:
        if template == "":  # a match of LAYOUT
            return lambda _match: ""
        converter: Callable[[re.Match[str]], str]
        converter = super().url_converter(name, hashed_files, template)
        return converter


def _bundle_sources(sources: Sources) -> Sources:
    """Return the bundled entries and our other scripts, minified."""

    def read(name: str) -> str:
        storage, path = sources[name]
        with storage.open(path) as file:
            content: bytes = file.read()
        return content.decode()

    memory = InMemoryStorage()
    texts = {name: read(name) for name in sources if fnmatchcase(name, SCRIPTS)}
    for entry, bundle in BUNDLES.items():
        texts |= bundle(entry, read)
    for name, text in texts.items():
        content = jsmin(text) if fnmatchcase(name, SCRIPTS) else text
        memory.save(name, ContentFile(content.encode()))
    return {name: (memory, name) for name in texts}


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise's middleware, with each response in one piece.

    WhiteNoise streams from a synchronous iterator, which Django under ASGI would consume in another
    thread, with a warning.
    """

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        file_response = static_file.get_response(request.method, request.META)
        content = b""
        if file_response.file is not None:
            with file_response.file as file:
                content = file.read()
        response = HttpResponse(content, status=int(file_response.status))
        del response["Content-Type"]
        for name, value in file_response.headers:
            response[name] = value
        return response
