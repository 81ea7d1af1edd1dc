"""Erased people are gone from all files, even if an older backup is restored."""

import json
from contextlib import closing
from pathlib import Path
from shutil import copy

import psycopg
import pytest

from tests.management.archives import restore
from tests.support.fake_upstream import FakeUpstream
from tests.support.live import Site, child_environment, execute, run
from tests.support.shell import Shell

CANARY = "qzkcanary"
WRITE = f"""
import django, uuid
django.setup()
from datetime import timedelta
from django.db import transaction
from django.utils import timezone
from chatapp.models import *
from chatapp.realtime.journal import Journal
from chatapp.models import audit
from chatapp.models.conversations.messages.rounds import Round
from chatapp.models.files import storage
from io import BytesIO
carol = User.objects.create_user("carol-{CANARY}", email="{CANARY}@x.test", last_name="{CANARY}")
dave = User.objects.create_user("dave")
olive = User.objects.get(username="olive")
upstream = Upstream.objects.create(name="Kept", base_url="http://127.0.0.1:9/v1")
for person, word in ((carol, "{CANARY}"), (dave, "sparrow")):
    project = Project.objects.create(user=person, name=word + "one", instructions=word + "two")
    chat = Conversation(user=person, title=word + "three", project=project)
    prompt, reply = chat.ask(uuid.uuid4(), word + "four", None, upstream, "m", uuid.uuid4())
    said = dict(content=word + "five", reasoning=word + "six", ending="complete")
    Message.objects.filter(pk=reply.pk).update(**said)
    journal = Journal(uuid.uuid4())  # its process dies with this one
    journal.open(reply.pk).end_round(Round(content=word + "eight"))
    image = b"GIF89a" + word.encode()
    ReplyImage.objects.create(message=reply, position=0, media_type="image/gif", data=image)
    file = StoredFile.store(b"file of " + word.encode(), person.pk)
    FileContent.objects.create(file=file, kind="document", text=word + "nine", page_ends=[8])
    fields = dict(user=person, name=word + "ten", size=9, received=9)
    Attachment.objects.create(**fields, message=prompt, file=file, state="ready")
    stopped = Attachment.objects.create(**fields, conversation=chat)
    storage.write(stopped.part_name(0), BytesIO(word.encode()))
    Device.objects.create(user=person, session_key=word, agent=word)
    LegalHold.begin(person, None, word + "seven", olive).end(olive)
    with transaction.atomic():
        audit.record("person.changed", actor=person, about=person, detail={{"before": word}})
        audit.record("person.changed", actor=olive, about=person, detail={{"before": word}})
while ReplyImage.objects.move_one_to_storage():
    pass
StoredFile.objects.update(used_at=timezone.now() - timedelta(hours=1))
soon = timezone.now() + timedelta(days=1)
Invitation.objects.create(token_hash="x", address="{CANARY}@x.test", expires_at=soon)
for _ in reindex():
    pass
"""
ERASE = f"""
import django
django.setup()
from chatapp.erasure.people import erase
from chatapp.models import User
[report] = erase([User.objects.get(username="carol-{CANARY}")])
print(report.left, report.disposal_notice.split()[0])
"""
COUNT = """
import django
django.setup()
from chatapp.models import Conversation, User, audit
audit.verify()
print(*User.objects.filter(username__regex="^(carol|dave)").values_list("username", flat=True))
print(Conversation.objects.count())
"""


def find_files_with(environment: dict[str, str], word: str) -> list[str]:
    """Return the first part of the path of each file in DATA_DIR with this word."""
    root = Path(environment["DATA_DIR"])
    paths = [
        path for path in root.rglob("*") if path.is_file() and word.encode() in path.read_bytes()
    ]
    return [path.relative_to(root).parts[0] for path in paths]


def find_tables_with(url: str, word: str) -> list[str]:
    """Return the tables with `word` in a row, as text or bytes, including the search index."""
    with psycopg.connect(url) as connected:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        tables = [table for (table,) in connected.execute(query)]
        search = 'SELECT 1 FROM "{0}" AS one WHERE one::text ~* %s LIMIT 1'
        pattern = f"{word}|{word.encode().hex()}"
        return [
            table
            for table in tables
            if connected.execute(search.format(table).encode(), [pattern]).fetchone()
        ]


def find_relations_with(url: str, word: str) -> set[str]:
    """Return the tables and indexes, including the server's own, with `word` in their files."""
    with psycopg.connect(url, autocommit=True) as connected:
        connected.execute("CHECKPOINT")
        names = connected.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'i', 't') AND position(%s::bytea"
            " IN pg_read_binary_file(pg_relation_filepath(oid), 0, 1 << 28, true)) > 0",
            [word.encode()],
        )
        return {name for (name,) in names}


@pytest.fixture
def populated_environment(site: Site) -> dict[str, str]:
    environment = site.server().environment
    run(environment, "-c", WRITE)
    return environment


def test_no_file_in_data_dir_contains_their_words(populated_environment: dict[str, str]) -> None:
    is_sqlite = "DATABASE_URL" not in populated_environment
    assert {"files", "journal"} <= set(find_files_with(populated_environment, CANARY))
    with closing(Shell(child_environment(populated_environment))) as shell:
        assert shell.run(ERASE).startswith("{} ")
        shell.run("from django.core.management import call_command; call_command('housekeeping')")
    assert find_files_with(populated_environment, CANARY) == []
    remaining_files = set(
        find_files_with(populated_environment, "sparrow")
    )  # dave's journal was completed, too
    assert remaining_files == {"files", "chatapp.sqlite3"} if is_sqlite else {"files"}
    assert "erasures.jsonl" in {
        path.name for path in Path(populated_environment["DATA_DIR"]).iterdir()
    }


@pytest.mark.thorough
def test_no_file_of_postgresql_contains_their_words(populated_environment: dict[str, str]) -> None:
    """After housekeeping, none of the search index; after VACUUM FULL, none at all."""
    if not (url := populated_environment.get("DATABASE_URL", "")):
        pytest.skip("DATABASE_URL is not set")
    of_search = {"chatapp_searchentry_words", "chatapp_searchentry_title_words"}
    assert {"chatapp_message", "chatapp_searchentry"} <= set(find_tables_with(url, CANARY))
    execute(populated_environment, "ANALYZE")  # stores some names and titles, as autovacuum does
    before = find_relations_with(url, CANARY)
    assert {"chatapp_message", "chatapp_user", "pg_statistic", *of_search} <= before
    run(populated_environment, "-c", ERASE)
    assert find_tables_with(url, CANARY) == []
    assert of_search <= find_relations_with(url, CANARY)
    run(populated_environment, "manage.py", "housekeeping")
    assert not find_relations_with(url, CANARY) & of_search
    with psycopg.connect(url, autocommit=True) as connected:
        connected.execute("VACUUM FULL")
    assert find_relations_with(url, CANARY) == set()
    assert find_relations_with(url, "sparrow") >= of_search


@pytest.mark.thorough
def test_the_servers_log_does_not_contain_their_words(site: Site, upstream: FakeUpstream) -> None:
    with site.server(OPENAI_BASE_URL=upstream.base_url) as server:
        run(server.environment, "-c", WRITE)
        with server.visit(site.olive) as client:
            client.get("/review/", params={"person": f"carol-{CANARY}"})
            client.get("/search/", params={"q": CANARY})
        run(server.environment, "-c", ERASE)
        assert "/search/" in server.log
    assert CANARY not in server.log


@pytest.mark.thorough
def test_people_erased_since_the_backup_are_erased_again(
    populated_environment: dict[str, str], empty: dict[str, str], tmp_path: Path
) -> None:
    archive = tmp_path / "before.zip"
    run(populated_environment, "manage.py", "backup", str(archive))
    run(populated_environment, "-c", ERASE)
    copy(Path(populated_environment["DATA_DIR"], "erasures.jsonl"), empty["DATA_DIR"])
    done = restore(empty, archive)
    assert done.returncode == 0, done.stderr
    assert "erased since the backup, now erased again: 1." in done.stdout
    assert run(empty, "-c", COUNT).stdout.split() == ["dave", "1"]
    assert find_files_with(empty, CANARY) == []
    lines = Path(empty["DATA_DIR"], "erasures.jsonl").read_text().splitlines()
    assert len(lines) == 1


@pytest.mark.thorough
def test_a_later_backup_contains_the_erasures(
    populated_environment: dict[str, str], empty: dict[str, str], tmp_path: Path
) -> None:
    run(populated_environment, "-c", ERASE)
    archive = tmp_path / "after.zip"
    run(populated_environment, "manage.py", "backup", str(archive))
    done = restore(empty, archive)
    assert done.returncode == 0, done.stderr
    assert "There is no erasures.jsonl in DATA_DIR" in done.stderr
    [line] = Path(empty["DATA_DIR"], "erasures.jsonl").read_text().splitlines()
    assert set(json.loads(line)) == {"at", "person", "joined"}
