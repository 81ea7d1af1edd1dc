"""Arguments that select a gateway: a base URL, or the name of a configured upstream."""

from argparse import ArgumentParser
from dataclasses import replace

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from chatapp.catalogue import build_endpoint
from chatapp.models import Upstream
from chatapp.models.platform.upstream_validators import validate_base_url
from chatapp.upstream.check import model_for_chat
from chatapp.upstream.client import Endpoint


def add_target_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "target",
        metavar="URL",
        help="a base URL including /v1, or the name of a configured upstream, whose stored key is "
        "used",
    )
    parser.add_argument(
        "--key-from-env", action="store_true", help="take the key from OPENAI_API_KEY"
    )


def target_endpoint(target: str, key_from_env: bool) -> tuple[Endpoint, str]:
    """Return the endpoint, and a model named in its settings or "".

    Raises `CommandError` if `target` is neither a URL nor a name, or if the key isn't set.
    """
    key = _key_from_env() if key_from_env else ""
    if "://" in target:
        try:
            validate_base_url(target)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        return Endpoint(target, key), ""
    upstream = _find_upstream(target)
    if upstream.secret_problem and not key:
        raise CommandError(upstream.secret_problem)
    endpoint = build_endpoint(upstream)
    model = model_for_chat(list(upstream.named_models))
    return (replace(endpoint, api_key=key) if key else endpoint), model


def _key_from_env() -> str:
    if not settings.OPENAI_API_KEY:
        raise CommandError("--key-from-env needs a key in OPENAI_API_KEY, which isn't set.")
    return str(settings.OPENAI_API_KEY)


def _find_upstream(name: str) -> Upstream:
    match list(Upstream.objects.filter(name=name)):
        case [upstream]:
            return upstream
        case []:
            names = ", ".join(Upstream.objects.values_list("name", flat=True)) or "none yet"
            raise CommandError(
                f"No upstream is named {name}. Give a base URL, for example https://host/v1, or "
                f"the name of a configured upstream ({names})."
            )
    raise CommandError(f"Several upstreams are named {name}. Give the base URL.")
