"""The report of a check in a terminal."""

from collections.abc import AsyncIterator, Iterator
from io import StringIO

from django.core.management.base import BaseCommand

from chatapp.checks.report import TerminalReport, format_result, summarize
from chatapp.checks.results import CheckStep, Heading, failed, note, ok, skipped, warning

LONG = "a sentence that goes on " * 8
REFUSED = failed("Fake", "It rejects the key", "Set the right one.", "401 no")


def test_a_finding_fits_a_terminal_of_80_columns() -> None:
    lines = format_result(failed("Client address", LONG, LONG), 80)
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("  failed   Client address   a sentence that")
    assert all(line.startswith(" " * 28) for line in lines[1:])
    assert [line.strip()[:3] for line in lines].count("→ a") == 1


def test_a_passed_check_takes_one_line() -> None:
    assert format_result(ok("Debug pages", "off")) == ["  ok       Debug pages      off"]


def test_a_quotation_follows_what_was_found() -> None:
    lines = format_result(REFUSED)
    assert lines[0] == "  failed   Fake             It rejects the key: 401 no"
    assert lines[1].strip() == "→ Set the right one."


def test_statuses_are_counted() -> None:
    results = [ok("a", ""), ok("b", ""), warning("c", "", ""), failed("d", "", "")]
    assert summarize(results) == "1 failed, 1 warning, 2 ok."
    notes = [note("e", "", ""), note("f", "", ""), skipped("g", "")]
    assert summarize(notes) == "2 notes, 1 skipped."


def test_steps_are_shown_as_they_come_and_failures_are_returned() -> None:
    out = StringIO()

    def check() -> Iterator[CheckStep]:
        yield Heading("First")
        yield ok("One", "fine")
        assert out.getvalue().endswith("One              fine\n")
        yield Heading("Second\x1b[2J")
        yield REFUSED

    report = TerminalReport(BaseCommand(stdout=out, no_color=True))
    assert report.show_steps(check()) == [REFUSED]
    assert out.getvalue().splitlines() == [
        "First",
        "  ok       One              fine",
        "",
        "Second\ufffd[2J",
        "  failed   Fake             It rejects the key: 401 no",
        f"{'→':>29} Set the right one.",
        "",
        "1 failed, 1 ok.",
    ]


def test_an_asynchronous_check_is_shown_alike() -> None:
    async def check() -> AsyncIterator[CheckStep]:
        yield ok("One", "fine\x1b[2J")

    out = StringIO()
    assert TerminalReport(BaseCommand(stdout=out, no_color=True)).show_steps(check()) == []
    assert out.getvalue() == "  ok       One              fine\ufffd[2J\n\n1 ok.\n"
