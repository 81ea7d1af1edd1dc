"""Answers errors under the API's addresses as OpenAI does, whatever part of the app they come from.

Django and the other middleware answer with pages, which clients of the API can't read.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from chatapp.api.responses import API_PATH, SENTENCES, ApiError, plain_error

OTHER = "The server refused the request with status {}."


class ApiErrorsMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        is_of_api = f"{request.path_info}/".startswith(API_PATH)
        status = response.status_code
        if is_of_api and status >= 400 and response.get("Content-Type") != ApiError.content_type:
            error = plain_error(status, SENTENCES.get(status) or OTHER.format(status))
            response.content = error.content
            response.headers["Content-Type"] = error.content_type
            response.headers["Content-Length"] = str(len(response.content))
        return response
