"""The need of a prompt for which a limit leaves too little, in words."""

from chatapp.upstream.wire.requests.estimates import PromptSize


def describe_need(
    size: PromptSize, more: int, typed: str, *, has_files: bool, has_earlier: bool
) -> str:
    """Say how many tokens a prompt may need, what they are for, and how to need fewer.

    `size` is that of the whole request, and `more` what it may need besides. Both count upper
    bounds, as limits do.
    """
    needed, for_text = size.upper_tokens + more, len(typed.encode(errors="replace"))
    words = {"files": has_files, "earlier messages": has_earlier}
    sources = [source for source, is_there in words.items() if is_there]
    sentence = f"This prompt may need up to {needed:,} tokens"
    if sources:
        sentence += f", {needed - for_text:,} of them for {' and '.join(sources)}"
    remedies = ["shorten it"]
    if has_files:
        remedies.append("remove files")
    if has_earlier:
        remedies.append("start a new chat")
    *others, last = remedies
    return f"{sentence}: {', '.join(others)}, or {last}." if others else f"{sentence}: {last}."
