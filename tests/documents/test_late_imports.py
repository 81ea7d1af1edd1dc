"""No reader imports a module once it reads: in the sandbox, no file can be opened then."""

import io
import json
import subprocess
import sys
from itertools import groupby

import pytest

from bench.documents.case import Case
from bench.documents.cases import all_cases
from chatapp.documents.formats import detection

pytestmark = pytest.mark.server

SCRIPT = """
import io, json, sys
from chatapp.documents.results import Limits, Unreadable
from chatapp.documents.sandbox.child import find_outcome

class Blocker:
    def find_spec(self, name, path=None, target=None):
        raise ImportError(f"{name} is imported late")

def read(content):
    found = find_outcome(content, Limits(), lambda limits: sys.meta_path.insert(0, Blocker()))
    return f"{found} {found.__cause__}" if isinstance(found, Unreadable) else ""

print(json.dumps([read(io.BytesIO(bytes.fromhex(one))) for one in json.load(sys.stdin)]))
"""


def find_module(case: Case) -> str:
    return detection.module_for(io.BytesIO(case.content).read(detection.HEAD_BYTES))


GROUPS = {
    module: list(cases)
    for module, cases in groupby(sorted(all_cases(), key=find_module), key=find_module)
}


@pytest.mark.parametrize("module", GROUPS)
def test_a_reader_imports_nothing_late(module: str) -> None:
    contents = json.dumps([case.content.hex() for case in GROUPS[module]])
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=contents, capture_output=True, text=True, check=True
    )
    problems = json.loads(ran.stdout)
    assert {
        case.name: problem
        for case, problem in zip(GROUPS[module], problems, strict=True)
        if problem
    } == {}
