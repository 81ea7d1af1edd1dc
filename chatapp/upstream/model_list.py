"""`GET /models`: a body in, the models' ids out; what is no list raises `UpstreamFailed`."""

import msgspec

from chatapp.upstream.errors import ErrorKind, UpstreamError, UpstreamFailed, clean

_MAX_MODEL_LENGTH = 200


class _Model(msgspec.Struct):
    id: str


class _ModelList(msgspec.Struct):
    data: list[_Model]


def model_ids(body: bytes) -> list[str]:
    """Return the ids, each once, in the upstream's order."""
    try:
        listing = msgspec.json.decode(body, type=_ModelList)
    except (ValueError, RecursionError) as error:
        message = clean(f"not a list of models: {error}")
        raise UpstreamFailed(UpstreamError(ErrorKind.MALFORMED, message)) from error
    return list(dict.fromkeys(clean(model.id, _MAX_MODEL_LENGTH) for model in listing.data))
