"""pip-audit's output, as a verdict."""

from tests.support.known_vulnerabilities import parse_report


def test_a_known_vulnerability_is_named() -> None:
    report = parse_report(
        '{"dependencies": [{"name": "a", "version": "1", "vulns": []},'
        ' {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]},'
        ' {"name": "c", "skip_reason": "not found"}], "fixes": []}'
    )
    assert [dependency.name for dependency, _ in report.vulnerabilities] == ["b"]
    assert str(report) == "Vulnerabilities: 1 in 2 packages; 1 could not be judged\nb 2: CVE-1"


def test_without_a_database_nothing_is_judged() -> None:
    assert str(parse_report("")) == "Vulnerabilities: 0 in 0 packages; 0 could not be judged"
    assert not parse_report("").vulnerabilities
