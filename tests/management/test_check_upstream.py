"""`manage.py check_upstream`: its report, exit status, target and key."""

from pathlib import Path

import pytest
from pytest_django import Settings

from chatapp.models import Upstream
from tests.management import Printed
from tests.support.fake_upstream import MODEL, FakeUpstream, answer
from tests.support.live import run
from tests.upstream.check import KEY, NO_KEY, serve


def test_the_command_prints_its_results_below_each_question(upstream: FakeUpstream) -> None:
    serve(upstream, tuple(answer()))
    printed = Printed("check_upstream", upstream.base_url)
    assert printed.problem == ""
    assert printed.out.startswith("Asking for its models\n  ok       Models           1: ")
    assert f"\n\nAsking {MODEL} to count\n  ok       Model " in printed.out
    assert printed.out.endswith("ok.\nIt can serve the app.\n")


def test_the_command_fails_for_a_gateway_that_cannot_serve(upstream: FakeUpstream) -> None:
    upstream.fail_models(401, NO_KEY)
    printed = Printed("check_upstream", upstream.base_url)
    assert printed.status == 1
    assert printed.problem.startswith("It can't serve the app. It rejects the key: 401 wrong key.")
    assert "  failed   Upstream         It rejects the key: 401 wrong key" in printed.out


def test_a_configured_upstream_is_checked_with_its_stored_key(
    upstream: FakeUpstream, saved_upstream: Upstream
) -> None:
    Upstream.objects.update(offered_models="one\ntwo")
    serve(upstream, tuple(answer()))
    printed = Printed("check_upstream", "Fake")
    assert upstream.chat_requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert upstream.chat_requests[0].body["model"] == "one"
    assert KEY not in printed.out + printed.err


def test_the_key_and_the_model_can_be_chosen(
    upstream: FakeUpstream, saved_upstream: Upstream, settings: Settings
) -> None:
    settings.OPENAI_API_KEY = "sk-from-environment"
    printed = Printed("check_upstream", "Fake", "--key-from-env", "--model", "mine")
    assert printed.problem == ""
    first = upstream.chat_requests[0]
    assert (first.headers["authorization"], first.body["model"]) == (
        "Bearer sk-from-environment",
        "mine",
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ftp://host/v1"], "That isn't a valid base URL"),
        (["Elsewhere"], "No upstream is named Elsewhere. Give a base URL"),
        (["Fake"], "Several upstreams are named Fake"),
        (["http://host/v1", "--key-from-env"], "needs a key in OPENAI_API_KEY"),
    ],
)
def test_a_bad_argument_is_reported(
    saved_upstream: Upstream, settings: Settings, arguments: list[str], sentence: str
) -> None:
    settings.OPENAI_API_KEY = ""
    Upstream.objects.create(name="Fake", base_url="http://host/v1")
    assert sentence in Printed("check_upstream", *arguments).problem


def test_the_command_as_a_process_hides_the_key(upstream: FakeUpstream, tmp_path: Path) -> None:
    upstream.fail_models(401, {"error": {"message": f"bad {KEY}"}})
    environment = {"DATA_DIR": str(tmp_path), "OPENAI_API_KEY": KEY}
    done = run(
        environment, "manage.py", "check_upstream", upstream.base_url, "--key-from-env", check=False
    )
    assert done.returncode == 1
    assert "It rejects the key: 401 bad ***." in done.stderr
    assert "Traceback" not in done.stderr
    assert KEY not in done.stdout + done.stderr
