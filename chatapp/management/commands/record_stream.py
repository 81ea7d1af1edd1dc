"""`manage.py record_stream`: record a gateway's response in a file, byte by byte with its timing.

The file is safe to share: it contains the response, but neither the key nor the prompt.
"""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatapp.checks.results import clean
from chatapp.management.targets import add_target_arguments, target_endpoint
from chatapp.upstream.check.answers import Answer, read_answer
from chatapp.upstream.check.problems import problem_of_error
from chatapp.upstream.client import Endpoint, UpstreamClient
from chatapp.upstream.recordings import Recording
from chatapp.upstream.wire.errors.upstream_error import UpstreamFailed

PROMPT = "Tell me in three sentences why the sky is blue."


class Command(BaseCommand):
    help = "Record a gateway's answer with its timing, for replay by the demo and the tests."

    def add_arguments(self, parser: CommandParser) -> None:
        add_target_arguments(parser)
        parser.add_argument("--model", required=True, help="the model to ask")
        parser.add_argument("--prompt", default=PROMPT, help="what to ask it; not recorded")
        parser.add_argument(
            "--output", type=Path, help="the file (default: DATA_DIR/recordings/MODEL.jsonl)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        endpoint, _ = target_endpoint(options["target"], options["key_from_env"])
        replayed = settings.DATA_DIR / "recordings"
        file = options["output"] or replayed / f"{_file_name(options['model'])}.jsonl"
        _make_room(file)
        self.stderr.write(f"Asking {options['model']}…", self.style.NOTICE)
        try:
            recording = asyncio.run(_record(endpoint, options["model"], options["prompt"]))
        except UpstreamFailed as failed:
            problem = problem_of_error(failed.error).clean()
            raise CommandError(f"Nothing was recorded. {problem.sentences}") from failed
        with _reporting_errors(file):
            file.write_text(recording.dump(), encoding="utf-8", newline="")
        self.stdout.write(f"Recorded in {file}: {_summarize_recording(recording)}")
        self.stdout.write(
            f"The app reads it as: {_describe_answer(read_answer(recording, endpoint.secret))}"
        )
        self.stdout.write(_describe_replay(file, replayed))


async def _record(endpoint: Endpoint, model: str, prompt: str) -> Recording:
    messages = [{"role": "user", "content": prompt}]
    client = UpstreamClient()
    try:
        recording = await client.record(endpoint, model, messages)
        error = read_answer(recording, endpoint.secret).reply.error
        if not (error and error.refuses_usage_option and endpoint.asks_for_usage):
            return recording
        plain = replace(endpoint, takes_usage_option=False)
        return await client.record(plain, model, messages)
    finally:
        await client.aclose()


def _make_room(file: Path) -> None:
    """Raise `CommandError` if the file can't be created, before tokens are spent."""
    if file.exists():
        raise CommandError(f"{file} exists. Name another file with --output, or remove it.")
    with _reporting_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)


@contextmanager
def _reporting_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CommandError(f"{file} can't be written: {error.strerror}.") from error


def _file_name(model: str) -> str:
    return re.sub(r"[^\w.-]+", "-", model, flags=re.ASCII).strip("-.") or "recording"


def _summarize_recording(recording: Recording) -> str:
    seconds = recording.reads[-1].at if recording.reads else 0.0
    cut = ", then the connection was lost" if recording.is_cut else ""
    return (
        f"status {recording.status}, {len(recording.body):,} bytes in {len(recording.reads)} reads "
        f"over {seconds:.2f} s{cut}."
    )


def _describe_answer(answer: Answer) -> str:
    """Describe how the app would show the answer."""
    reply = answer.reply
    texts = {"reasoning": reply.reasoning, "answer": reply.answer, "refusal": reply.refusal}
    parts = [f"{len(text):,} characters of {name}" for name, text in texts.items() if text]
    parts += [f"a call of {call.name}" for call in reply.tool_calls]
    usage = reply.usage
    counted = f"{usage.total_tokens:,} tokens reported" if usage else "no usage reported"
    problem = f" ({reply.error.message or reply.error.kind})" if reply.error else ""
    text = f"{', '.join(parts) or 'no text'}; ending {reply.ending}{problem}; {counted}."
    return clean(text)


def _describe_replay(file: Path, replayed: Path) -> str:
    if file.resolve().parent == replayed.resolve():
        demo = f"The built-in demo offers it as the model replay-{file.stem}"
    else:
        demo = f"Copy it to {replayed} and the built-in demo offers it as replay-{file.stem}"
    return f"{demo}. For tests, put it into tests/recordings. It has neither key nor prompt."
