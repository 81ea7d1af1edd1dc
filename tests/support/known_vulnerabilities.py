"""Refuses locked versions with known vulnerabilities.

`python -m tests.support.known_vulnerabilities FILE…` runs pip-audit and prints how many packages it
judged. If it can reach no vulnerability database, it judges none and passes.
"""

import subprocess
import sys
from pathlib import Path

import msgspec

AUDIT = ["--no-deps", "--disable-pip", "--progress-spinner=off", "--format=json"]


class Dependency(msgspec.Struct):
    name: str
    version: str = ""
    skip_reason: str = ""
    vulns: list[dict[str, object]] = []


class Report(msgspec.Struct):
    """The output of pip-audit."""

    dependencies: list[Dependency] = []

    def __str__(self) -> str:
        skipped = sum(bool(dependency.skip_reason) for dependency in self.dependencies)
        lines = [
            f"{dependency.name} {dependency.version}: {vuln['id']}"
            for dependency, vuln in self.vulnerabilities
        ]
        judged = len(self.dependencies) - skipped
        summary = (
            f"Vulnerabilities: {len(lines)} in {judged} packages; {skipped} could not be judged"
        )
        return "\n".join([summary, *lines])

    @property
    def vulnerabilities(self) -> list[tuple[Dependency, dict[str, object]]]:
        return [(dependency, vuln) for dependency in self.dependencies for vuln in dependency.vulns]


def parse_report(printed: str) -> Report:
    """Parse pip-audit's output, which is empty if it could not reach its database."""
    return msgspec.json.decode(printed, type=Report) if printed.strip() else Report()


def audit(path: str) -> Report:
    program = Path(sys.executable).with_name("pip-audit")
    command = [str(program), "--requirement", path, *AUDIT]
    return parse_report(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


if __name__ == "__main__":
    reports = [audit(path) for path in sys.argv[1:]]
    print(*reports, sep="\n")
    sys.exit(any(report.vulnerabilities for report in reports))
