"""Static files, by whitenoise."""

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

COMMENTS = (
    ("js/*.js", ((r"(?m)^ *//.*\n", ""),)),
    ("css/*.css", ((r"(?s) *\s/\*.*?\*/", ""), (r"(?s)\A/\*.*?\*/", ""))),
)


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Files under names with their hash, by which scripts of the page import one another too; ours
    without their comments, which would be an eighth of what a browser fetches."""

    support_js_module_import_aggregation = True
    patterns = CompressedManifestStaticFilesStorage.patterns + COMMENTS

    def url_converter(
        self, name: str, hashed_files: dict[str, str], template: str | None = None
    ) -> Callable[[re.Match[str]], str]:
        if template == "":  # a comment's
            return lambda _match: ""
        converter: Callable[[re.Match[str]], str]
        converter = super().url_converter(name, hashed_files, template)
        return converter


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
