"""Marks for what is on a sheet but in no cell. A place is such as " at B5", or empty."""

UNKNOWN = "an unknown author"


def mark_comment(author: str, address: str, text: str, kind: str = "Comment") -> str:
    return f"[{kind} by {author or UNKNOWN} on {address}: {' '.join(text.split())}]"


def mark_chart(place: str, title: str, data: str) -> str:
    """Return a chart's mark with its title and the cells that its data is in."""
    about = "; ".join(part for part in (title, f"its data is in {data}" if data else "") if part)
    return f"[Chart{place}: {about}]" if about else f"[Chart{place}]"


def mark_text_box(place: str, text: str) -> str:
    return f"[Text box{place}: {text}]" if text else ""


def mark_missing_picture(place: str, description: str = "") -> str:
    about = " ".join(description.split())
    return f"[Picture{place} that is not in the file{f': {about}' if about else ''}]"


def place_picture(place: str, mark: str) -> str:
    """Return a picture's own mark with its place before it."""
    return f"At{place.removeprefix(' at')}: {mark}" if mark and place else mark
