"""`manage.py record_stream`: what the file contains, and what the command prints."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pytest_django import Settings

from chatapp.models import Upstream
from chatapp.upstream.recordings import Recording
from chatapp.upstream.wire.reply import Ending
from tests.management import Printed
from tests.support.fake_upstream import (
    MODEL,
    Abort,
    FakeUpstream,
    Pause,
    answer,
    delta,
    done,
    finish,
    reasoning,
    usage,
)
from tests.support.live import free_port
from tests.upstream import decode_reply
from tests.upstream.check import KEY


@pytest.fixture(autouse=True)
def data_dir(settings: Settings, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    settings.OPENAI_API_KEY = KEY
    return tmp_path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "strange.jsonl"


def record(upstream: FakeUpstream, *arguments: str) -> Printed:
    return Printed("record_stream", upstream.base_url, "--model", MODEL, *arguments)


def test_a_recording_has_the_bytes_as_they_arrived(upstream: FakeUpstream, file: Path) -> None:
    steps = [reasoning("Hm. "), *answer("Größe 🚀")]
    upstream.script(*steps)
    printed = record(upstream, "--output", str(file))
    assert printed.problem == ""
    recording = Recording.parse(file.read_text(encoding="utf-8"))
    assert recording.body == b"".join(step for step in steps if isinstance(step, bytes))
    reply = decode_reply(*(data for _, data in recording.replay()))
    assert (reply.reasoning, reply.answer, reply.ending) == ("Hm. ", "Größe 🚀", Ending.COMPLETE)
    assert "4 characters of reasoning, 7 characters of answer; ending complete" in printed.out
    assert "30 tokens reported" in printed.out


def test_reads_have_ascending_times(upstream: FakeUpstream, file: Path) -> None:
    pause = Pause()
    upstream.script(delta("Hello"), pause, finish(), done())
    with ThreadPoolExecutor(1) as pool:
        recording = pool.submit(record, upstream, "--output", str(file))
        pause.reached.wait(15)
        pause.release()
        recording.result()
    times = [read.at for read in Recording.parse(file.read_text(encoding="utf-8")).reads]
    assert times == sorted(times)
    assert times[0] > 0


@pytest.mark.django_db
def test_a_configured_upstream_is_used_with_its_stored_key(
    upstream: FakeUpstream, file: Path
) -> None:
    stored_key = "sk-of-the-database"
    Upstream.objects.create(name="Ours", base_url=upstream.base_url, api_key=stored_key)
    upstream.script(delta(f"Your key is {stored_key}."), finish(), done())
    printed = Printed("record_stream", "Ours", "--model", MODEL, "--output", str(file))
    assert printed.problem == ""
    assert upstream.wait_for_request().headers["authorization"] == f"Bearer {stored_key}"
    assert stored_key not in file.read_text(encoding="utf-8") + printed.out + printed.err


def test_the_recording_has_neither_key_nor_prompt(upstream: FakeUpstream, file: Path) -> None:
    half, other_half = KEY[:5], KEY[5:]
    split = delta(f"your key {KEY}").partition(half.encode())
    upstream.script(b"".join(split[:2]), split[2], finish(), done(), headers={"Server": KEY})
    printed = record(
        upstream, "--key-from-env", "--prompt", "a private matter", "--output", str(file)
    )
    request = upstream.wait_for_request()
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["messages"] == [{"role": "user", "content": "a private matter"}]
    text = file.read_text(encoding="utf-8")
    assert "your key" in text
    for secret in (KEY, other_half, "a private matter"):
        assert secret not in text + printed.out + printed.err


def test_by_default_the_demo_finds_the_recording(upstream: FakeUpstream, data_dir: Path) -> None:
    printed = record(upstream)
    file = data_dir / "recordings" / "google-gemini-3-flash.jsonl"
    assert file.exists()
    assert "offers it as the model replay-google-gemini-3-flash" in printed.out
    again = record(upstream)
    assert again.problem.startswith(f"{file} exists.")
    assert len(upstream.requests) == 1


def test_a_recording_elsewhere_says_where_to_copy_it(
    upstream: FakeUpstream, file: Path, data_dir: Path
) -> None:
    printed = record(upstream, "--output", str(file))
    assert f"Copy it to {data_dir / 'recordings'}" in printed.out
    assert "as replay-strange" in printed.out


def test_a_lost_connection_is_recorded(upstream: FakeUpstream, file: Path) -> None:
    pause = Pause()
    pause.release()
    upstream.script(delta("Hello"), pause, Abort())
    printed = record(upstream, "--output", str(file))
    assert "then the connection was lost" in printed.out
    assert "ending cut_off" in printed.out
    assert Recording.parse(file.read_text(encoding="utf-8")).is_cut


def test_an_error_is_recorded_and_reported(upstream: FakeUpstream, file: Path) -> None:
    upstream.fail(429, {"error": {"message": "slow down"}})
    printed = record(upstream, "--output", str(file))
    assert "status 429" in printed.out
    assert "no text; ending failed (slow down); no usage reported." in printed.out


def test_stream_options_are_left_out_if_refused(upstream: FakeUpstream, file: Path) -> None:
    upstream.fail(400, {"error": "no stream_options"})
    upstream.script(delta("Hello"), usage(), finish(), done())
    printed = record(upstream, "--output", str(file))
    assert "5 characters of answer; ending complete" in printed.out
    assert ["stream_options" in request.body for request in upstream.chat_requests] == [True, False]


@pytest.mark.network
def test_an_unreachable_gateway_leaves_no_file(file: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    printed = Printed("record_stream", url, "--model", MODEL, "--output", str(file))
    assert (printed.status, file.exists()) == (1, False)
    assert printed.problem.startswith("Nothing was recorded. It can't be reached: ")


def test_a_file_that_cannot_be_written_is_reported_before_asking(
    upstream: FakeUpstream, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("")
    printed = record(upstream, "--output", str(tmp_path / "taken" / "in" / "file"))
    assert (printed.status, upstream.requests) == (1, [])
    assert "can't be written: Not a directory." in printed.problem
