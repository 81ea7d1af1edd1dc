"""Name the chat and its person to gateways that want to know, without telling who they are.

Requests with the same `prompt_cache_key` go to the same cache, and a `safety_identifier` lets a
gateway block one person and not everybody. Both are keyed hashes: nobody can compute them without
this server's secret.
"""

from uuid import UUID

from django.utils.crypto import salted_hmac

from chatapp.models import Upstream

MAX_LENGTH = 64  # characters that OpenAI takes


def identifiers_for(
    upstream: Upstream, model: str, person: int, conversation: UUID | None = None
) -> dict[str, str]:
    """Return the fields of a request that name its chat and person; none for most gateways."""
    if not upstream.gateway.takes_identifiers:
        return {}
    fields = {"safety_identifier": _hash("person", str(person))}
    if conversation:
        fields["prompt_cache_key"] = _hash("chat", str(conversation))
    left_out = {*upstream.parameters, *upstream.refused_by(model)}
    return {name: value for name, value in fields.items() if name not in left_out}


def _hash(kind: str, value: str) -> str:
    digest = salted_hmac(f"chatapp.identifiers.{kind}", value, algorithm="sha256").hexdigest()
    return digest[:MAX_LENGTH]
