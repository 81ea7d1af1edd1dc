"""Validators of an upstream's fields."""

from django.core.exceptions import ValidationError

from chatapp.models.accounts.access_rules import MAX_MODEL_LENGTH
from chatapp.models.platform.addresses import names_an_account, parse_http_url
from chatapp.upstream.wire.decoding.decoder import MAX_CHOICES
from chatapp.upstream.wire.requests.dialects import RESERVED_PARAMETERS


def validate_base_url(value: str) -> None:
    """Check a base URL. Django's validator would reject the host names of private networks."""
    parts = parse_http_url(value)
    if parts is None or parts.query or parts.fragment:
        raise ValidationError("That isn't a valid base URL. Example: https://host/v1")
    if names_an_account(parts):
        raise ValidationError("The URL is visible to staff. Put any secret into the API key.")


def validate_parameters(value: object) -> None:
    if not isinstance(value, dict):
        raise ValidationError('That isn\'t a JSON object. Example: {"temperature": 0.2}')
    if ours := RESERVED_PARAMETERS & value.keys():
        raise ValidationError(f"The app sets {', '.join(sorted(ours))} itself. Remove it here.")
    if "n" in value and value["n"] not in range(1, MAX_CHOICES + 1):
        raise ValidationError(f"n must be a number from 1 to {MAX_CHOICES}.")


def validate_offered_models(value: str) -> None:
    for line in value.splitlines():
        model, has_name, name = (part.strip() for part in line.partition("="))
        if has_name and (not name or len(model.split()) != 1):
            raise ValidationError(
                f"“{line.strip()[:80]}” isn't a model and its name. Example: gpt-4o = The quick one"
            )
        if any(len(model_id) > MAX_MODEL_LENGTH for model_id in model.split()):
            raise ValidationError(
                f"The id “{model[:80]}…” is longer than {MAX_MODEL_LENGTH} characters."
            )
