"""The subprocess: reads the file that is its stdin, or draws a page of it, writes the answer to
stdout and ends.

It begins without environment, other files or connections. It looks at the first bytes of the file
to import only the modules that its format needs. Before any of it is parsed, the process gives up
all but computing, reading stdin and writing stdout: see `confinement`.
"""

import json
import os
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import BinaryIO

from chatapp.documents import refusals
from chatapp.documents.answers import UNCONFINED, encoded
from chatapp.documents.formats import detection
from chatapp.documents.results import DrawnPage, Limits, Result, Unreadable
from chatapp.documents.sandbox.confinement import confine, limit_resources

STDIN, STDOUT = 0, 1


def main(limits_json: str, page: str = "") -> None:
    limits = Limits(**json.loads(limits_json))
    index = int(page) if page else None
    warnings.simplefilter("ignore")  # to show one, Python would read source files
    with open(STDIN, "rb", closefd=False) as file:
        write(encoded(find_outcome(file, limits, _give_up_everything_else, index)))
    os._exit(0)  # no exit handler of a library runs


def write(answer: bytes) -> None:
    left = memoryview(answer)
    while left:
        left = left[os.write(STDOUT, left) :]


def find_outcome(
    file: BinaryIO, limits: Limits, give_up: Callable[[Limits], None], page: int | None = None
) -> Result | DrawnPage | Unreadable:
    """Read the file, or draw a page; call `give_up` as soon as the modules for it are there."""
    try:
        module = import_module(detection.module_for(file.read(detection.HEAD_BYTES)))
        file.seek(0)
        give_up(limits)
        result: Result | DrawnPage = (
            module.read(file, limits) if page is None else module.draw_page(file, limits, page)
        )
        return result
    except Unreadable as error:
        return error
    except MemoryError:
        return refusals.too_much_memory()
    except Exception as error:  # noqa: BLE001 - hostile files make parsers raise anything
        refusal = refusals.damaged()
        refusal.__cause__ = error
        return refusal


def _give_up_everything_else(limits: Limits) -> None:
    limit_resources(limits.seconds, limits.memory_bytes)
    try:
        confine()
    except OSError:
        os._exit(UNCONFINED)
