"""`GET /models`: a body in, the models' ids out; what is no list raises `UpstreamFailed`."""

import msgspec

from chatapp.upstream.errors import ErrorKind, UpstreamError, UpstreamFailed, clean

_MAX_MODEL_LENGTH = 200
_MAX_MODELS = 10_000


def model_ids(body: bytes) -> list[str]:
    """Return the ids, each once, in the upstream's order.

    The list may stand alone or as `data`, which may be null; what has no id in it is read over.
    """
    try:
        listing = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        raise _no_list(str(error)) from error
    if isinstance(listing, dict):
        if "data" not in listing:
            raise _no_list("it has no `data`")
        listing = listing["data"] or []
    if not isinstance(listing, list):
        raise _no_list("`data` is none")
    ids = (_id_of(model) for model in listing[:_MAX_MODELS])
    return list(dict.fromkeys(clean(one, _MAX_MODEL_LENGTH) for one in ids if one))


def _id_of(model: object) -> str:
    named = model.get("id") if isinstance(model, dict) else model
    return named.strip() if isinstance(named, str) else ""


def _no_list(why: str) -> UpstreamFailed:
    message = clean(f"not a list of models: {why}")
    return UpstreamFailed(UpstreamError(ErrorKind.MALFORMED, message))
