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
from chatapp.models.conversations.rounds import Round
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
while ReplyImage.objects.move_one():
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
from chatapp.accounts.erasing import erase
from chatapp.models import User
[report] = erase([User.objects.get(username="carol-{CANARY}")])
print(report.left, report.gone.split()[0])
"""
COUNT = """
import django
django.setup()
from chatapp.models import Conversation, User, audit
audit.verify()
print(*User.objects.filter(username__regex="^(carol|dave)").values_list("username", flat=True))
print(Conversation.objects.count())
"""


def files_with(environment: dict[str, str], word: str) -> list[str]:
    """Return the first part of the path of each file in DATA_DIR with this word."""
    root = Path(environment["DATA_DIR"])
    found = [one for one in root.rglob("*") if one.is_file() and word.encode() in one.read_bytes()]
    return [one.relative_to(root).parts[0] for one in found]


def rows_with(url: str, word: str) -> list[str]:
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


def relations_with(url: str, word: str) -> set[str]:
    """Return the tables and indexes, including the server's own, with `word` in their files."""
    with psycopg.connect(url, autocommit=True) as connected:
        connected.execute("CHECKPOINT")
        found = connected.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'i', 't') AND position(%s::bytea"
            " IN pg_read_binary_file(pg_relation_filepath(oid), 0, 1 << 28, true)) > 0",
            [word.encode()],
        )
        return {name for (name,) in found}


@pytest.fixture
def written(site: Site) -> dict[str, str]:
    environment = site.server().environment
    run(environment, "-c", WRITE)
    return environment


def test_no_file_in_data_dir_contains_their_words(written: dict[str, str]) -> None:
    is_sqlite = "DATABASE_URL" not in written
    assert {"files", "journal"} <= set(files_with(written, CANARY))
    with closing(Shell(child_environment(written))) as shell:
        assert shell.run(ERASE).startswith("{} ")
        shell.run("from django.core.management import call_command; call_command('housekeeping')")
    assert files_with(written, CANARY) == []
    left = set(files_with(written, "sparrow"))  # dave's journal was completed, too
    assert left == {"files", "chatapp.sqlite3"} if is_sqlite else {"files"}
    assert "erasures.jsonl" in {one.name for one in Path(written["DATA_DIR"]).iterdir()}


@pytest.mark.thorough
def test_no_file_of_postgresql_contains_their_words(written: dict[str, str]) -> None:
    """After housekeeping, none of the search index; after VACUUM FULL, none at all."""
    if not (url := written.get("DATABASE_URL", "")):
        pytest.skip("DATABASE_URL is not set")
    of_search = {"chatapp_searchentry_words", "chatapp_searchentry_title_words"}
    assert {"chatapp_message", "chatapp_searchentry"} <= set(rows_with(url, CANARY))
    execute(written, "ANALYZE")  # stores some names and titles, as autovacuum does
    before = relations_with(url, CANARY)
    assert {"chatapp_message", "chatapp_user", "pg_statistic", *of_search} <= before
    run(written, "-c", ERASE)
    assert rows_with(url, CANARY) == []
    assert of_search <= relations_with(url, CANARY)
    run(written, "manage.py", "housekeeping")
    assert not relations_with(url, CANARY) & of_search
    with psycopg.connect(url, autocommit=True) as connected:
        connected.execute("VACUUM FULL")
    assert relations_with(url, CANARY) == set()
    assert relations_with(url, "sparrow") >= of_search


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
    written: dict[str, str], empty: dict[str, str], tmp_path: Path
) -> None:
    archive = tmp_path / "before.zip"
    run(written, "manage.py", "backup", str(archive))
    run(written, "-c", ERASE)
    copy(Path(written["DATA_DIR"], "erasures.jsonl"), empty["DATA_DIR"])
    done = restore(empty, archive)
    assert done.returncode == 0, done.stderr
    assert "erased since the backup, now erased again: 1." in done.stdout
    assert run(empty, "-c", COUNT).stdout.split() == ["dave", "1"]
    assert files_with(empty, CANARY) == []
    lines = Path(empty["DATA_DIR"], "erasures.jsonl").read_text().splitlines()
    assert len(lines) == 1


@pytest.mark.thorough
def test_a_later_backup_contains_the_erasures(
    written: dict[str, str], empty: dict[str, str], tmp_path: Path
) -> None:
    run(written, "-c", ERASE)
    archive = tmp_path / "after.zip"
    run(written, "manage.py", "backup", str(archive))
    done = restore(empty, archive)
    assert done.returncode == 0, done.stderr
    assert "There is no erasures.jsonl in DATA_DIR" in done.stderr
    [line] = Path(empty["DATA_DIR"], "erasures.jsonl").read_text().splitlines()
    assert set(json.loads(line)) == {"at", "person", "joined"}
