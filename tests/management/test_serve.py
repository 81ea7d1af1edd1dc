"""`manage.py serve` as a process, used by clients that know only its pages."""

import asyncio
import socket
import sqlite3
import stat
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from tests.management import Printed
from tests.support.fake_upstream import (
    FakeUpstream,
    Pause,
    Request,
    Stall,
    delta,
    done,
    finish,
    reasoning,
    role,
    usage,
)
from tests.support.live import (
    PASSWORD,
    Person,
    Server,
    Site,
    free_port,
    listeners,
    run,
)
from tests.support.page import Page, parse
from tests.support.program import WAIT_SECONDS
from tests.support.visitor import Visitor, open_socket, visit, wait_for_ending

KEY = "sk-very-secret"
LONG = "3600"


@pytest.fixture(scope="module")
def shared_upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def patient(site: Site, shared_upstream: FakeUpstream) -> Iterator[Server]:
    """A server with a long grace period for closed tabs and none for lost connections."""
    with site.server(
        OPENAI_BASE_URL=shared_upstream.base_url,
        OPENAI_API_KEY=KEY,
        CHATAPP_CLOSE_GRACE=LONG,
        CHATAPP_DROP_GRACE="0",
    ) as server:
        yield server


@pytest.fixture(scope="module")
def trusting(site: Site, shared_upstream: FakeUpstream) -> Iterator[Server]:
    """A server with a long grace period for lost connections and none for closed tabs."""
    with site.server(
        OPENAI_BASE_URL=shared_upstream.base_url,
        OPENAI_API_KEY=KEY,
        CHATAPP_CLOSE_GRACE="0",
        CHATAPP_DROP_GRACE=LONG,
    ) as server:
        yield server


@pytest.fixture
def alice(site: Site) -> Person:
    return site.person()


# A conversation


async def test_a_client_that_knows_only_the_pages_signs_in_and_chats(
    patient: Server, shared_upstream: FakeUpstream, alice: Person
) -> None:
    shared_upstream.script(
        role(),
        reasoning("Rayleigh."),
        delta("It *scat"),
        delta("ters*."),
        finish(),
        usage(),
        done(),
    )
    with patient.visit() as client:
        login = parse(client.get("/", follow_redirects=True).text)
        token = login.find_all("input", name="csrfmiddlewaretoken")[0].attributes["value"]
        fields = {"csrfmiddlewaretoken": token, "login": alice.username, "password": PASSWORD}
        answer = client.post("/accounts/login/", data=fields, headers={"referer": patient.url})
        assert (answer.status_code, answer.headers["location"]) == (302, "/")
        signed_in = Person(alice.username, client.cookies["sessionid"])
        page = Page(client.get("/").text)
    async with open_socket(patient, signed_in, page) as visitor:
        await visitor.send("Why is the sky blue?")
        assert await visitor.until_ended() == "complete"
        assert page.region("answer").strip() == "It scatters."
        assert "Rayleigh." in page.region("reasoning")
        assert "Thought for" in page.region("reasoning")
        assert page.reply().find(data_usage="reported").text == "30 tokens"
        assert page.root.find("p", id="problem").text == ""
        first = visitor.path
        await visitor.send("And at night?")
        await visitor.until(lambda: len(visitor.replies) == 2 and visitor.ending == "complete")
        assert visitor.path == first
    again = shared_upstream.chat_requests[-1].body["messages"]
    assert [m["content"] for m in again] == [
        "Why is the sky blue?",
        "It *scatters*.",
        "And at night?",
    ]
    while shared_upstream.chat_requests[-1] is not shared_upstream.wait_for_request():
        pass


async def test_the_page_is_the_same_after_a_reload(
    patient: Server, shared_upstream: FakeUpstream, alice: Person
) -> None:
    text = (
        "A *list*:\n\n* one\n* two `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx = 1\n```\n"
    )
    parts = [delta(text[at : at + 3]) for at in range(0, len(text), 3)]
    shared_upstream.script(role(), reasoning("So."), *parts, finish(), usage(), done())
    async with visit(patient, alice) as visitor:
        await visitor.send("Show me")
        await visitor.until_ended()
        shared_upstream.wait_for_request()
        async with visit(patient, alice, visitor.path) as again:
            for region in ("reasoning", "answer"):
                assert again.page.region(region) == visitor.page.region(region)
            assert again.page.form()["parent"] == visitor.page.form()["parent"]


# Closing, dropping, reloading


@asynccontextmanager
async def half_a_reply(
    server: Server, upstream: FakeUpstream, person: Person, *rest: object
) -> AsyncIterator[tuple[Visitor, Request]]:
    """Yield a tab that shows half a reply, and the upstream request that is still running."""
    steps = rest or [Stall()]
    upstream.script(role(), delta("Half of "), *steps)
    async with visit(server, person) as visitor:
        await visitor.send("Go on")
        request = await upstream.until_requested()
        await visitor.until_says("Half of")
        yield visitor, request


async def test_closing_the_tab_closes_the_upstream_request(
    trusting: Server, shared_upstream: FakeUpstream, alice: Person
) -> None:
    async with half_a_reply(trusting, shared_upstream, alice) as (visitor, request):
        await visitor.socket.close(1001)
        assert (await request.until_closed()).was_streaming
    assert await wait_for_ending(trusting, alice, visitor.path) == "abandoned"


async def test_losing_the_connection_closes_the_upstream_request(
    patient: Server, shared_upstream: FakeUpstream, alice: Person
) -> None:
    async with half_a_reply(patient, shared_upstream, alice) as (visitor, request):
        await visitor.lose_connection()
        assert (await request.until_closed()).was_streaming
    assert await wait_for_ending(patient, alice, visitor.path) == "abandoned"


async def test_the_reply_goes_on_during_the_grace_period_of_a_closed_tab(
    patient: Server, shared_upstream: FakeUpstream, alice: Person
) -> None:
    pause = Pause()
    later_steps = (pause, delta("it"), finish(), done())
    async with half_a_reply(patient, shared_upstream, alice, *later_steps) as (visitor, request):
        await visitor.socket.close(1001)
    # Once the server answers another tab, it has seen the close.
    await other_tab_is_answered(patient, shared_upstream, alice)
    assert request.closed is None
    pause.release()
    assert await wait_for_ending(patient, alice, visitor.path) == "complete"


async def test_the_reply_goes_on_during_the_grace_period_of_a_lost_connection(
    trusting: Server, shared_upstream: FakeUpstream, alice: Person
) -> None:
    pause = Pause()
    later_steps = (pause, delta("it"), finish(), done())
    async with half_a_reply(trusting, shared_upstream, alice, *later_steps) as (visitor, request):
        await visitor.lose_connection()
    await other_tab_is_answered(trusting, shared_upstream, alice)
    assert request.closed is None
    pause.release()
    assert await wait_for_ending(trusting, alice, visitor.path) == "complete"


async def other_tab_is_answered(server: Server, upstream: FakeUpstream, person: Person) -> None:
    async with visit(server, person) as other:
        await other.send("Another thing")
        await upstream.until_requested()
        assert await other.until_ended() == "complete"


@pytest.mark.parametrize("how", ["reload", "loss"])
async def test_a_returning_tab_shows_every_text_once(
    patient: Server, trusting: Server, shared_upstream: FakeUpstream, alice: Person, how: str
) -> None:
    server = patient if how == "reload" else trusting
    words = [f"word{number} " for number in range(60)]
    first, second = Pause(), Pause()
    shared_upstream.script(
        role(),
        *map(delta, words[:20]),
        first,
        *map(delta, words[20:40]),
        second,
        *map(delta, words[40:]),
        finish(),
        usage(),
        done(),
    )
    async with visit(server, alice) as visitor:
        await visitor.send("Count")
        await shared_upstream.until_requested()
        await visitor.until_says("word19")
        if how == "reload":
            await visitor.socket.close(1001)
        else:
            await visitor.lose_connection()
    first.release()  # twenty words arrive while no tab is open
    await asyncio.to_thread(second.reached.wait, WAIT_SECONDS)
    async with visit(server, alice, visitor.path) as again:
        await again.until_says("word39")
        second.release()
        assert await again.until_ended() == "complete"
        assert again.page.region("answer").strip() == "".join(words).strip()


async def test_a_reconnected_page_shows_every_text_once(
    trusting: Server, shared_upstream: FakeUpstream, alice: Person
) -> None:
    """As htmx does, keep the page and reconnect with a URL that says what the page has."""
    pause = Pause()
    later_steps = (pause, delta("it, "), delta("and the rest"), finish(), done())
    async with half_a_reply(trusting, shared_upstream, alice, *later_steps) as (visitor, _request):
        await visitor.lose_connection()
    pause.release()
    state = visitor.page.root.find(id="composer-state")
    seen = {
        "conversation": visitor.page.form()["conversation"],
        "head": visitor.replies[-1],
        "ending": "streaming",
    }
    assert state.attributes["data-url"] == f"/c/{seen['conversation']}/"
    app = visitor.page.root.find(id="app")
    app.attributes["hx-ws:connect"] = f"/ws/?{httpx.QueryParams(seen)}"
    async with open_socket(trusting, alice, visitor.page) as again:
        assert await again.until_ended() == "complete"
        assert again.page.region("answer").strip() == "Half of it, and the rest"


async def test_a_prompt_repeated_on_a_new_socket_is_sent_upstream_once(
    patient: Server, shared_upstream: FakeUpstream, alice: Person
) -> None:
    before = len(shared_upstream.chat_requests)
    async with visit(patient, alice) as visitor:
        fields = visitor.page.form()
        await visitor.send("Once only")
        await shared_upstream.until_requested()
        await visitor.until_ended()
    async with visit(patient, alice) as again:
        await again.send("Once only", prompt=fields["prompt"])
        await again.until(lambda: again.replies)
        assert again.replies == visitor.replies
    assert len(shared_upstream.chat_requests) == before + 1


# Starting and stopping


async def test_sigterm_saves_the_running_reply_and_exits_with_0(
    site: Site, upstream: FakeUpstream, alice: Person
) -> None:
    with site.server(
        OPENAI_BASE_URL=upstream.base_url,
        REDIS_URL="",  # no other process to send the tab to
        CHATAPP_DRAIN_SECONDS="0.2",
    ) as server:
        async with half_a_reply(server, upstream, alice) as (visitor, request):
            server.begin_stop()
            await visitor.until_ended()
            assert visitor.ending == "interrupted"
            assert (await request.until_closed()).was_streaming
            await visitor.socket.wait_closed()
            assert visitor.socket.close_code == 1012  # the page reconnects
        assert await asyncio.to_thread(server.wait) == 0
    assert visitor.page.region("answer").strip() == "Half of"
    assert "a restart of the server" in visitor.page.reply().text
    assert contents(server, "SELECT content FROM chatapp_message WHERE ending = 'interrupted'") == [
        "Half of "
    ]


async def test_a_reply_may_finish_in_time_after_sigterm(
    site: Site, upstream: FakeUpstream, alice: Person
) -> None:
    pause = Pause()
    later_steps = (pause, delta("it"), finish(), done())
    # No other process to send the tab to.
    with site.server(OPENAI_BASE_URL=upstream.base_url, REDIS_URL="") as server:
        async with half_a_reply(server, upstream, alice, *later_steps) as (visitor, _request):
            server.begin_stop()
            with server.visit() as client:
                while not client.get("/readyz").json()["draining"]:  # noqa: ASYNC110 - a process
                    await asyncio.sleep(0.01)
                assert client.get("/readyz").status_code == 503
            await visitor.send("One more?", conversation="", prompt=str(uuid4()))
            await visitor.until(
                lambda: "restarting" in visitor.page.root.find("p", id="problem").text
            )
            pause.release()
            assert await visitor.until_ended() == "complete"
        assert await asyncio.to_thread(server.wait) == 0
    assert len(upstream.chat_requests) == 1


async def test_after_a_crash_the_next_start_saves_the_reply_as_shown(
    trusting: Server, shared_upstream: FakeUpstream, alice: Person
) -> None:
    async with half_a_reply(trusting, shared_upstream, alice) as (visitor, _request):
        trusting.kill()
    trusting.start()
    with trusting.visit(alice) as client:
        page = Page(client.get(visitor.path).text)
    assert page.reply().attributes["data-ending"] == "interrupted"
    assert page.region("answer").strip() == "Half of"
    assert "tokens, estimated" in page.reply().text
    assert list((trusting.data_dir / "journal").glob("*/*")) == []


@pytest.mark.thorough
async def test_without_its_journal_the_next_start_marks_the_reply_interrupted(
    site: Site, upstream: FakeUpstream, alice: Person
) -> None:
    server = site.server(OPENAI_BASE_URL=upstream.base_url)
    (server.data_dir / "journal").touch()  # so that no folder can be created there
    with server:
        async with half_a_reply(server, upstream, alice) as (visitor, _request):
            await until_saved(server, alice, visitor.path, "Half of")
            server.kill()
        assert server.log.count("The journal in") == 1
        server.start()
        server.wait_for("1 replies were running")
        with server.visit(alice) as client:
            page = Page(client.get(visitor.path).text)
        assert page.reply().attributes["data-ending"] == "interrupted"
        assert page.region("answer").strip() == "Half of"
        assert "tokens, estimated" in page.reply().text


async def until_saved(server: Server, person: Person, path: str, text: str) -> None:
    """Wait for a checkpoint, by querying the database: pages show more than is saved."""
    query = "SELECT content FROM chatapp_message WHERE role = 'assistant'"
    async with asyncio.timeout(WAIT_SECONDS):
        while not any(text in c for c in contents(server, query)):  # noqa: ASYNC110 - a process
            await asyncio.sleep(0.05)


def contents(server: Server, query: str) -> list[str]:
    if url := server.environment.get("DATABASE_URL"):
        with psycopg.connect(url) as connection:
            return [row[0] for row in connection.execute(query.encode())]
    with closing(sqlite3.connect(server.data_dir / "chatapp.sqlite3")) as connection:
        return [row[0] for row in connection.execute(query)]


@pytest.fixture(scope="module")
def new(site: Site) -> Iterator[Server]:
    """A server without people or an upstream, which serves the demo, too."""
    with site.empty_server(HOST="127.0.0.2") as server:
        yield server


def test_the_printed_link_creates_the_first_administrator_once(new: Server) -> None:
    with new.visit() as client:
        link = urlsplit(new.wait_for(r"once: (\S+)")[1])
        assert f"{link.scheme}://{link.netloc}" == new.url
        assert client.get(f"/setup/{'0' * 32}/").status_code == 404
        form = parse(client.get(link.path).text).find("form", method="post")
        names = {e.attributes.get("name") for e in form.find_all("input")}
        assert names >= {"csrfmiddlewaretoken", "username", "email", "password1", "password2"}
        token = form.find("input", name="csrfmiddlewaretoken").attributes["value"]
        fields = {"username": "ada", "email": "", "password1": PASSWORD, "password2": PASSWORD}
        response = client.post(
            link.path,
            data=fields | {"csrfmiddlewaretoken": token},
            headers={"referer": new.url},
        )
        assert (response.status_code, response.headers["location"]) == (302, "/")
        assert client.get("/").status_code == 200
        assert client.get("/people/").status_code == 200
        again = client.get(link.path)
        assert (again.status_code, again.headers["location"]) == (302, "/")
        with new.visit() as stranger:
            assert stranger.get(link.path).status_code == 302
            token = stranger.get("/accounts/login/", follow_redirects=True).cookies["csrftoken"]
            fields |= {"username": "eve", "csrfmiddlewaretoken": token}
            stranger.post(link.path, data=fields, headers={"referer": new.url})
            assert stranger.get("/").headers["location"].startswith("/accounts/login/")
    assert contents(new, "SELECT username FROM chatapp_user") == ["ada"]
    assert new.log.count("Create the first account") == 1


@pytest.mark.thorough
def test_createsuperuser_creates_an_administrator_without_the_link(
    site: Site, upstream: FakeUpstream
) -> None:
    server = site.empty_server(OPENAI_BASE_URL=upstream.base_url)
    account = {
        "DJANGO_SUPERUSER_USERNAME": "ada",
        "DJANGO_SUPERUSER_EMAIL": "ada@example.org",
        "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
    }
    run(server.environment | account, "manage.py", "createsuperuser", "--noinput")
    with server, server.visit() as client:
        assert "/setup/" not in server.log
        client.get("/accounts/login/")
        fields = {
            "login": "ada@example.org",
            "password": PASSWORD,
            "csrfmiddlewaretoken": client.cookies["csrftoken"],
        }
        client.post("/accounts/login/", data=fields, headers={"referer": server.url})
        assert client.get("/people/").status_code == 200


@pytest.mark.thorough
def test_a_server_whose_stdout_was_closed_stops_cleanly(site: Site) -> None:
    server = site.server()
    process = subprocess.Popen(
        server.command(),
        cwd=server.directory(),
        env=server.child_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        assert process.stdout
        assert process.stdout.readline().startswith(b"chatapp is at ")
        process.stdout.close()
        process.terminate()
        assert process.wait(WAIT_SECONDS) == 0


@pytest.mark.thorough
def test_the_secret_key_is_readable_only_by_its_owner(patient: Server, site: Site) -> None:
    secret = Path(site.empty_server().environment["DATA_DIR"], "secret_key")
    environment = site.empty_server().environment | {"DATA_DIR": str(secret.parent)}
    run(environment, "manage.py", "check")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    first = secret.read_text()
    assert len(first) >= 50
    run(environment, "manage.py", "check")
    assert secret.read_text() == first
    assert first not in patient.log


@pytest.mark.server
@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (
            "CHATAPP_DROP_GRACE",
            "soon",
            'CHATAPP_DROP_GRACE="soon" is not a number of seconds, for example 10',
        ),
        ("PORT", "http", 'PORT="http" is not a port number, for example 8000'),
        ("OPENAI_BASE_URL", "sk-secret", "OPENAI_BASE_URL must start with http:// or https://"),
    ],
)
def test_a_bad_setting_stops_the_start_with_a_sentence(
    tmp_path: Path, name: str, value: str, sentence: str
) -> None:
    environment = {"DATA_DIR": str(tmp_path), name: value}
    failed = run(environment, "manage.py", "serve", check=False)
    assert failed.returncode != 0
    output = failed.stdout + failed.stderr
    assert sentence in output
    assert "sk-secret" not in output


@pytest.mark.django_db
@pytest.mark.parametrize("upstream_url", ["", "http://127.0.0.1:9/v1"])
def test_a_port_in_use_is_reported_in_a_sentence(settings: Settings, upstream_url: str) -> None:
    settings.OPENAI_BASE_URL = upstream_url
    with socket.create_server(("127.0.0.1", 0)) as other:
        settings.HOST, settings.PORT = other.getsockname()
        with pytest.raises(ImproperlyConfigured, match=r"can't be listened on.* Set PORT"):
            Printed("serve")


@pytest.mark.parametrize("how", [["--workers", "2"], []])
def test_several_workers_without_redis_are_refused(settings: Settings, how: list[str]) -> None:
    settings.REDIS_URL, settings.WORKERS = "", 1 if how else 2
    failed = Printed("serve", *how)
    assert failed.status == 1
    assert "2 workers need Redis to communicate. Set REDIS_URL" in failed.problem


def test_zero_workers_are_refused() -> None:
    failed = Printed("serve", "--workers=0")
    assert (failed.status, "give 1 or more" in failed.problem) == (1, True)


@pytest.mark.thorough
def test_it_serves_on_the_configured_host_and_port(site: Site, upstream: FakeUpstream) -> None:
    port = str(free_port())
    with (
        site.server(OPENAI_BASE_URL=upstream.base_url, HOST="127.0.0.2", PORT=port) as server,
        server.visit() as client,
    ):
        assert server.url == f"http://127.0.0.2:{port}"
        assert client.get("/healthz").text == "ok"
        assert client.get("/readyz").status_code == 200


@pytest.mark.thorough
def test_it_serves_on_an_ipv6_address(site: Site, upstream: FakeUpstream) -> None:
    port = str(free_port())
    with (
        site.server(OPENAI_BASE_URL=upstream.base_url, HOST="::1", PORT=port) as server,
        server.visit() as client,
    ):
        assert server.url == f"http://[::1]:{port}"
        assert client.get("/healthz").text == "ok"


# The demo


@pytest.mark.thorough
async def test_the_demo_answers_if_no_upstream_is_set(site: Site, alice: Person) -> None:
    with site.server() as server:
        async with visit(server, alice) as visitor:
            await visitor.send("How do I connect a provider?")
            await visitor.until_says("OPENAI_BASE_URL")
            assert await visitor.until_ended() == "complete"
            assert "demo" in visitor.page.region("answer").lower()
            assert visitor.page.reply().find_all(data_usage="reported")


def test_the_demo_listens_only_on_loopback_and_requires_its_key(new: Server) -> None:
    page_port = urlsplit(new.url).port
    listening = listeners(new.pid)
    assert {address for address, port in listening if port == page_port} == {"127.0.0.2"}
    [(address, port)] = [(a, p) for a, p in listening if p != page_port]
    assert address == "127.0.0.1"
    answer = httpx.get(f"http://127.0.0.1:{port}/v1/models", trust_env=False)
    assert answer.status_code == 401
    assert httpx.get(f"http://127.0.0.1:{port}/", trust_env=False).status_code != 200


# Secrets


async def test_the_api_key_stays_out_of_pages_frames_and_the_log(
    patient: Server, shared_upstream: FakeUpstream, alice: Person, site: Site
) -> None:
    shared_upstream.fail(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})
    async with visit(patient, alice) as visitor:
        await visitor.send("Hello")
        request = await shared_upstream.until_requested()
        assert await visitor.until_ended() == "failed"
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert "refused the key" in visitor.page.reply().text
        assert KEY not in "".join(visitor.frames)
    with patient.visit(alice) as client:
        assert KEY not in client.get(visitor.path).text
    with patient.visit(site.olive) as client:
        client.get("/accounts/reauthenticate/")
        fields = {"password": PASSWORD, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        client.post("/accounts/reauthenticate/", data=fields, headers={"referer": patient.url})
        for path in ("/settings/models/", "/settings/models/1/"):
            page = client.get(path)
            assert page.status_code == 200
            assert KEY not in page.text
    assert KEY not in patient.log
    ciphertexts = contents(patient, "SELECT api_key FROM chatapp_upstream")
    assert len(ciphertexts) == 1
    assert KEY not in ciphertexts[0]
