"""The subprocess: reads the file that is its stdin, or draws pages of it, writes the answer to
stdout and ends.

It begins without environment, other files or connections. It looks at the first bytes of the file
to import only the modules that its format needs. Before any of it is parsed, the process gives up
all but computing, reading stdin and writing stdout: see `confinement`.
"""

import json
import os
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, BinaryIO

from chatapp.documents import refusals
from chatapp.documents.answers import UNCONFINED, Outcome, encode_outcome
from chatapp.documents.formats import detection
from chatapp.documents.results import Limits, Unreadable
from chatapp.documents.sandbox.confinement import confine, limit_resources

STDIN, STDOUT = 0, 1
ACTIONS = ("read", "draw_page", "draw_pages")  # functions of the modules of `formats`
READ = ("read",)


def main(limits_json: str, request_json: str) -> None:
    """Answer a request: the name of an action and its arguments."""
    limits = Limits(**json.loads(limits_json))
    request = json.loads(request_json)
    warnings.simplefilter("ignore")  # to show one, Python would read source files
    with open(STDIN, "rb", closefd=False) as file:
        write(encode_outcome(find_outcome(file, limits, _give_up_everything_else, request)))
    os._exit(0)  # no exit handler of a library runs


def write(answer: bytes) -> None:
    left = memoryview(answer)
    while left:
        left = left[os.write(STDOUT, left) :]


def find_outcome(
    file: BinaryIO,
    limits: Limits,
    give_up: Callable[[Limits], None],
    request: Sequence[Any] = READ,
) -> Outcome:
    """Do as requested; call `give_up` as soon as the modules for it are there."""
    action, *arguments = request
    if action not in ACTIONS:
        raise ValueError(action)
    try:
        module = import_module(detection.module_for(file.read(detection.HEAD_BYTES)))
        file.seek(0)
        give_up(limits)
        outcome: Outcome = getattr(module, action)(file, limits, *arguments)
        return outcome
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
