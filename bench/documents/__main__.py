"""`python -m bench.documents`: reads all documents in the sandbox and prints the words that arrive,
by format, and those that don't, by document."""

import tempfile
from pathlib import Path

from bench.documents.case import Case
from bench.documents.cases import all_cases
from bench.documents.shares import compute_shares, count_missing_words, format_table
from chatapp import documents
from chatapp.documents import Document, Limits, Unreadable


def read_case(case: Case) -> str:
    """Return the text that a model is sent of a document; none if it is refused."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(case.content)
        file.flush()
        try:
            result = documents.read(Path(file.name), Limits())
        except Unreadable as unreadable:
            print(f"{case.format}, {case.name}: {unreadable}")
            return ""
    return "\n".join(result.pages) if isinstance(result, Document) else ""


def main() -> None:
    texts = {(case.format, case.name): read_case(case) for case in all_cases()}
    for case in all_cases():
        if missing := count_missing_words(case, texts[case.format, case.name]):
            print(f"{case.format}, {case.name}: no {', '.join(missing.elements())}")
    print(format_table(compute_shares(all_cases(), lambda case: texts[case.format, case.name])))


if __name__ == "__main__":
    main()
