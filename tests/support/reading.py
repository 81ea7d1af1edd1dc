"""Read files in the test's own process, which takes a hundredth of the time of a subprocess."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from chatapp.documents import Limits, PlacedPicture
from chatapp.documents.formats import detection
from chatapp.documents.formats.pdf import pdf
from chatapp.documents.labels import refine_label
from chatapp.documents.results import Result


def read_here(path: Path, limits: Limits, name: str = "") -> Result:
    with path.open("rb") as file:
        module = import_module(detection.module_for(file.read(detection.HEAD_BYTES)))
        file.seek(0)
        result: Result = module.read(file, limits)
    return refine_label(result, name)


def draw_pages_here(
    path: Path, limits: Limits, indices: Sequence[int]
) -> tuple[PlacedPicture, ...]:
    with path.open("rb") as file:
        return pdf.draw_pages(file, limits, indices)
