"""Make the data of a version: `python -m tests.upgrades.make_data COMMIT NAME`.

The commit's own server runs on SQLite and on PostgreSQL, and people use it through its pages and
sockets. Its own `manage.py backup` writes NAME.sqlite.zip and NAME.postgresql.zip into the folder
`data`, and NAME.json says what it showed.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Self

from tests.support.live import ROOT
from tests.support.program import Program
from tests.upgrades import chatting, library, staff
from tests.upgrades.answering import AnsweringUpstream
from tests.upgrades.databases import new_database
from tests.upgrades.old_version import Code, Installation, check_out

DATA = Path(__file__).parent / "data"
SHOW = Path(__file__).with_name("show.py")
STORY_SECONDS = 300
VENDORS = ("sqlite", "postgresql")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("name", help="of the version, for example 0.6.0")
    options = parser.parse_args()
    code = check_out(options.commit)
    sections_by_vendor = {}
    for vendor in VENDORS:
        archive = DATA / f"{options.name}.{vendor}.zip"
        archive.unlink(missing_ok=True)
        with installation(code, vendor) as site:
            sections_by_vendor[vendor] = live_through(site, archive)
    text = json.dumps(sections_by_vendor, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    (DATA / f"{options.name}.json").write_text(text + "\n")


def live_through(site: Installation, archive: Path) -> dict[str, object]:
    """Let people use the installation until its server is killed, and back it up.

    Returns the secrets that people were shown once, and what everybody can see.
    """
    with AnsweringUpstream() as upstream, ToolServer() as tools, closing(site):
        site.prepare()
        site.begin()
        story = live(site, upstream.base_url, tools.url)
        keys = asyncio.run(asyncio.wait_for(story, STORY_SECONDS))
        site.manage("backup", str(archive))
        sections = json.loads(site.run(SHOW.read_text(), json.dumps(keys)))
        return {"keys": keys, "shown": sections}


async def live(site: Installation, upstream_url: str, tools_url: str) -> dict[str, str]:
    """Do what the people of the story do, until the server is killed."""
    cast = staff.set_up(site, upstream_url, tools_url)
    staff.govern(site, cast)
    await chatting.chat_with_every_ending(site, cast)
    await chatting.branch_out(site, cast)
    await chatting.work_in_a_project(site, cast)
    keys = await library.use_everything(site, cast)
    staff.review(site, cast, "Found")
    async with chatting.leave_replies_running(site, cast):
        site.kill()
    return keys


class ToolServer(Program):
    """An MCP server whose tools the models of the story call."""

    ready = r"ready (\S+)"

    def command(self) -> list[str]:
        return [sys.executable, "-m", "tests.tools.server", "http"]

    def directory(self) -> str:
        return str(ROOT)

    def start(self) -> Self:
        self.url = self.begin_start()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


@contextmanager
def installation(code: Code, vendor: str) -> Iterator[Installation]:
    """Return a new installation, which is deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="chatapp-") as folder:
        environment = {"DATA_DIR": folder}
        if vendor == "sqlite":
            yield Installation(code, environment)
            return
        with new_database() as url:
            yield Installation(code, environment | {"DATABASE_URL": url})


if __name__ == "__main__":
    main()
