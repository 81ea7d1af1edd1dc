"""Whatever code runs in the subprocess, it can compute and answer, and nothing else."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.documents import office
from chatapp import documents
from chatapp.documents import Limits, answers, reading, refusals
from tests.documents import files, mail_files, pdf_files, spreadsheet_files
from tests.documents.conftest import Reader

pytestmark = pytest.mark.server

OTHER_PROCESSOR = "import platform; platform.machine = lambda: 'riscv64'; "
# Begins like the real subprocess, then runs `ATTACK` and answers with the error that it got.
HOSTILE = """
import sys
sys.path.append(sys.argv[1])
import ctypes, json, os, signal, socket, subprocess, threading, time
from chatapp.documents.answers import encode_outcome
from chatapp.documents.results import Limits, Unreadable
from chatapp.documents.sandbox.child import write
from chatapp.documents.sandbox.confinement import confine, limit_resources
limits = Limits(**json.loads(sys.argv[2]))
libc = ctypes.CDLL(None, use_errno=True)
parent = os.getppid()
limit_resources(limits.seconds, limits.memory_bytes)
confine()
try:
    ATTACK
    outcome = "done"
except (Exception, MemoryError) as error:
    outcome = type(error).__name__
write(encode_outcome(Unreadable(outcome)))
os._exit(0)
"""


ILLUSTRATED = ("charts", "equations", "pictures with descriptions")
Attack = Callable[..., str]


@pytest.fixture
def attack(sandboxed_reader: Reader, monkeypatch: pytest.MonkeyPatch) -> Attack:
    def attack(code: str, **limits: float) -> str:
        monkeypatch.setattr(reading, "START", HOSTILE.replace("ATTACK", code))
        return sandboxed_reader.refusal(b"content", **limits)

    return attack


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"Plain words", "words.txt"),
        (b"<!doctype html><p>Words</p>", "page.html"),
        (files.pdf(["Words"]), "words.pdf"),
        (files.pdf(["Words", ""]), "mixed.pdf"),
        (pdf_files.draw_pdf([pdf_files.rows(*pdf_files.COLUMNS)]), "columns.pdf"),
        (pdf_files.draw_pdf([pdf_files.ILLUSTRATED], extra=[pdf_files.IMAGE]), "picture.pdf"),
        (pdf_files.form("", "/FT /Tx /T (name) /V (Ann)"), "form.pdf"),
        (
            pdf_files.draw_annotated_page("", "/Subtype /Text /Contents (Why?) /T (Ann)"),
            "comment.pdf",
        ),
        (files.word(), "words.docx"),
        (files.powerpoint(), "words.pptx"),
        (files.excel(), "words.xlsx"),
        (spreadsheet_files.excel_with_everything(), "numbers.xlsm"),
        (spreadsheet_files.ods_with_everything(), "numbers.ods"),
        (files.opendocument("text", "<text:p>Words</text:p>"), "words.odt"),
        *((case.content, "") for case in office.cases() if case.name in ILLUSTRATED),
        (files.image("PNG"), "words.png"),
        (files.image("BMP"), "words.bmp"),
        (files.image("AVIF"), "words.avif"),
        (files.HEIC, "words.heic"),
        (files.animation("TIFF", ["red", "blue"]), "words.tif"),
        (files.image("MPO"), "words.mpo"),
        (files.data_page(files.image("PNG", (60, 40)), "box").encode(), "words.html"),
        (b'{"nbformat": 4, "cells": [{"cell_type": "raw", "source": "Words"}]}', "words.ipynb"),
        (b"{\\rtf1\\ansi\\ansicpg932 Words \\'89\\'ef\\u-10179?\\u-8704?}", "words.rtf"),
        (files.book({"a.xhtml": "<html><p>Words</p></html>"}), "words.epub"),
        (mail_files.mail("Wörter 会議", Subject="März").as_bytes(), "words.eml"),
        (mail_files.with_all_kinds(), "words.eml"),
        (mail_files.outlook(mail_files.OUTLOOK, mail_files.SENT_AT), "words.msg"),
        *(
            ("Совещание начнётся. 会議".encode(encoding, "replace"), "words.txt")
            for encoding in ("cp1251", "koi8_r", "cp866", "shift_jis", "euc_jp", "gb18030", "big5")
        ),
    ],
)
def test_the_sandbox_reads_each_format_as_this_process_does(
    read: Reader, sandboxed_reader: Reader, content: bytes, name: str
) -> None:
    assert sandboxed_reader(content, name) == read(content, name)


@pytest.mark.parametrize(
    "code",
    [
        "socket.socket()",
        "socket.socketpair()",
        "open('/etc/passwd')",
        "open('/tmp/written', 'w')",
        "os.open('/proc/self/mem', os.O_RDWR)",
        "os.listdir('/')",
        "os.stat('/etc/passwd')",
        "os.unlink('/tmp/written')",
        "os.fork()",
        "os.execv('/bin/true', ['true'])",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.kill(parent, signal.SIGTERM)",
        "os.pidfd_open(parent)",
        "os.memfd_create('code')",
        "os.pipe()",
        "os.setuid(0)",
    ],
)
def test_system_calls_that_reach_outside_are_refused(attack: Attack, code: str) -> None:
    assert attack(code) == "PermissionError"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ptrace", "16, parent, 0, 0"),
        ("process_vm_readv", "parent, 0, 0, 0, 0, 0"),
        ("unshare", "0"),
    ],
)
def test_calls_of_the_c_library_are_refused(attack: Attack, name: str, arguments: str) -> None:
    code = f"if libc.{name}({arguments}) == -1: raise OSError(ctypes.get_errno(), '')"
    assert attack(code) == "PermissionError"


def test_no_thread_can_be_started(attack: Attack) -> None:
    assert attack("threading.Thread(target=print).start()") == "RuntimeError"


def test_the_subprocess_has_no_environment_and_no_open_files(
    attack: Attack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "secret")
    assert attack("if 'SECRET_KEY' in os.environ: raise KeyError") == "done"
    assert attack("os.read(3, 1)") == "OSError"


def test_memory_is_limited(attack: Attack) -> None:
    assert attack("bytearray(300_000_000)", memory_bytes=200_000_000) == "MemoryError"


def test_a_subprocess_that_spins_is_ended(attack: Attack) -> None:
    refusal = attack("exec('while True: pass')", seconds=1)
    assert refusal == "This file took too long to read. The limit is 1 s of computing."


def test_a_subprocess_that_waits_is_ended(attack: Attack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "ELAPSED_PER_CPU_SECOND", 0.5)
    lock = "threading.Lock().acquire() and threading.RLock().acquire()"
    code = f"lock = threading.Lock(); lock.acquire(); lock.acquire() or {lock}"
    assert (
        attack(code, seconds=1) == "This file took too long to read. The limit is 1 s of computing."
    )


@pytest.mark.parametrize("signal_", ["SEGV", "ABRT"])
def test_a_crash_is_a_sentence(attack: Attack, signal_: str) -> None:
    code = {"SEGV": "ctypes.string_at(0)", "ABRT": "os.abort()"}[signal_]
    assert attack(code) == str(refusals.crashed())


def test_an_endless_answer_is_cut_off(attack: Attack) -> None:
    code = "exec('while True: os.write(1, bytes(65536))')"
    assert attack(code, characters=1000, image_side=100) == str(refusals.crashed())


@pytest.mark.parametrize(
    "code",
    [
        "os._exit(0)",
        "os.write(1, b'no message'); os._exit(0)",
        "os.write(1, encode_outcome(Unreadable('x' * 10_000))); os._exit(0)",
        "os.write(1, encode_outcome(Unreadable('a' + chr(0)))); os._exit(0)",
    ],
)
def test_a_malformed_answer_is_refused(attack: Attack, code: str) -> None:
    assert attack(code) == str(refusals.crashed())


def test_without_a_sandbox_nothing_is_read(attack: Attack) -> None:
    assert "Ask your administrator" in attack(f"os._exit({answers.UNCONFINED})")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no filters")
def test_linux_on_a_processor_without_a_filter_reads_no_file(
    sandboxed_reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "START", OTHER_PROCESSOR + reading.START)
    assert "Ask your administrator" in sandboxed_reader.refusal(b"content")


def test_no_process_is_left_after_an_answer(
    sandboxed_reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    start = subprocess.Popen

    def record_process(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = start(*args, **options)
        started.append(process.pid)
        return process

    monkeypatch.setattr(subprocess, "Popen", record_process)
    assert sandboxed_reader.text(b"hello") == "hello"
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], signal.SIG_DFL)


def test_several_files_are_read_at_once(tmp_path: Path) -> None:
    paths = [tmp_path / str(i) for i in range(8)]
    for path in paths:
        path.write_text(f"file {path.name}")
    with ThreadPoolExecutor(8) as threads:
        read = threads.map(lambda path: documents.read(path, Limits()), paths)
        assert [each.pages for each in read] == [(f"file {i}",) for i in range(8)]  # type: ignore[union-attr]


def test_a_server_at_its_limit_of_processes_says_so(
    sandboxed_reader: Reader, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    assert "too busy. Try again." in sandboxed_reader.refusal(b"hello")


PNG = files.image("PNG")


@pytest.mark.parametrize(
    "answer",
    [
        answers.Answer(),
        answers.Answer(document=documents.Document("text/plain", "Text", "", ("long" * 9,))),
        answers.Answer(document=documents.Document("text/plain", "Text", "", ())),
        answers.Answer(document=documents.Document("text/plain", "Text", "", ("a",) * 4)),
        answers.Answer(document=documents.Document("text/plain", "Text", "", ("a\0",))),
        answers.Answer(document=documents.Document("text/plain", "Text" * 99, "", ("a",))),
        answers.Answer(document=documents.Document("text/plain", "Text", "<b>", ("a",))),
        answers.Answer(picture=documents.Picture("image/svg+xml", 9, 9, b"<svg/>", PNG)),
        answers.Answer(picture=documents.Picture("image/png", 9, 9, b"<script>", PNG)),
        answers.Answer(picture=documents.Picture("image/png", 9, 9, PNG, b"<script>")),
        answers.Answer(picture=documents.Picture("image/png", 999, 9, PNG, PNG)),
        answers.Answer(document=documents.Document("text/plain", "x" * 41, "", ("a",))),
        answers.Answer(document=documents.Document("text/plain\0", "Text", "", ("a",))),
        answers.Answer(scan=documents.Scan("application/pdf", "PDF", (), 3)),
        answers.Answer(
            scan=documents.Scan(
                "application/pdf",
                "PDF",
                (documents.Picture("image/png", 9, 9, PNG, PNG),),
                3,
                (documents.LeftOut("secret", 1),),
            )
        ),
    ],
)
def test_an_answer_beyond_the_limits_is_no_answer(answer: answers.Answer) -> None:
    limits = Limits(pages=3, characters=30, image_side=100)
    with pytest.raises(answers.BadAnswer):
        answers.decode_result(msgspec.msgpack.encode(answer), limits)
