"""The people of the sessions that this process has seen.

They tell people apart before a request is looked at.
"""

MAX_SESSIONS = 10_000  # sessions that are remembered

_people: dict[str, int] = {}


def remember_person(session: str, person: int) -> None:
    """Remember whose session it is. Thread-safe."""
    if len(_people) >= MAX_SESSIONS:
        _people.clear()
    _people[session] = person


def find_person(session: str) -> int | None:
    """Return whose session it is, if this process has seen it."""
    return _people.get(session)
