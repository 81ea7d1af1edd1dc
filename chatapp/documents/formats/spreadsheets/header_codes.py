"""Headers and footers of Excel's printed sheets, such as `&LDraft&RPage &P` (18.3.1.46)."""

import re

CODES = re.compile(
    r'&(?P<section>[LCR])|&"[^"]*"|&K[0-9A-Fa-f]{6}|&K[0-9]{2}[+-][0-9]{3}|&[0-9]{1,3}'
    r"|&(?P<field>[PNDTAFZ])|&(?P<plain>&)|&[A-Za-z]",
)
FIELDS = {"P": "#", "N": "#", "D": "(date)", "T": "(time)", "F": "(file)", "Z": "(folder)"}
PAGE = re.compile(r"[^\W\d_]*\s*#(?:\s*[^\W\d_]*\s*/?\s*#)?")


def plain_header(text: str, sheet_name: str) -> str:
    """Return the text of a header or footer; an empty one if it has only numbers of pages."""
    sections = [""]
    position = 0
    for match in CODES.finditer(text):
        sections[-1] += text[position : match.start()]
        position = match.end()
        if match["section"]:
            sections.append("")
        elif match["field"]:
            sections[-1] += sheet_name if match["field"] == "A" else FIELDS[match["field"]]
        elif match["plain"]:
            sections[-1] += "&"
    sections[-1] += text[position:]
    return join_sections(sections, sheet_name)


def join_sections(sections: list[str], sheet_name: str) -> str:
    """Return the parts that say more than the number of the page or the name of the sheet."""
    texts = (" ".join(section.split()) for section in sections)
    return " | ".join(
        text for text in texts if text and text != sheet_name and not PAGE.fullmatch(text)
    )
