"""Actions of people with features that came later; each only if the version has it."""

import re
from time import sleep

from tests.support.pictures import png
from tests.transfer.samples import build_zip, claude_turn, gpt_turn
from tests.upgrades.browser import Browser
from tests.upgrades.chatting import act, ask, find_chat, list_messages, open_tab, rename
from tests.upgrades.old_version import Installation
from tests.upgrades.staff import Cast, find_id

Keys = dict[str, str]


async def use_everything(site: Installation, cast: Cast) -> Keys:
    """Use each feature that this version has; return the secrets that are shown once."""
    keys: Keys = {}
    allow_sharing(site, cast.olive)
    if site.has_page("new-file"):
        await attach_files(site, cast.ann)
    if site.has_page("new-preset"):
        write_presets(site, cast)
        await chat_with_a_preset(site, cast.ann)
    if site.has_page("new-prompt"):
        write_prompts(site, cast)
    if site.has_page("memory"):
        cast.ann.fill_in("preferences", about="I keep bees.", answers="Briefly, please.")
    if site.has_page("tokens"):
        keys |= create_tokens(cast.ann)
    if site.has_page("share-chat"):
        keys |= share_chats(site, cast)
    if site.has_page("share-project"):
        share_project(site, cast)
    if site.has_page("imports"):
        import_chats(site, cast.ann)
    if site.has_page("new-export"):
        cast.ann.press("export-conversations", everything="on", with_files="on")
        wait_for_jobs(site)
    return keys


def allow_sharing(site: Installation, olive: Browser) -> None:
    if site.has_page("tokens"):
        olive.fill_in("settings", who_uses_api="everyone")
    if site.has_page("preset-sharing"):
        olive.fill_in("settings", who_shares="everyone")
    if site.has_page("share-chat"):
        olive.fill_in("settings", allows_public_links="on")


async def attach_files(site: Installation, ann: Browser) -> None:
    """Attach a text and an image to a prompt."""
    text = upload(site, ann, "report.txt", b"Sales fell in spring.\nThey rose in autumn.\n")
    image = upload(site, ann, "plan of the garden.png", png(40, 30))
    async with open_tab(site, ann.person) as tab:
        await ask(tab, "What do these say?", attached=f"{text}\n{image}")
        rename(ann, tab, "Files")


def upload(site: Installation, person: Browser, name: str, data: bytes) -> str:
    """Upload a file to the draft of a new chat, wait until it was read and return its id."""
    place = {"conversation": "", "form": ""}
    response = person.send("POST", "/files/", data={"name": name, "size": str(len(data)), **place})
    pk: str = response.json()["id"]
    headers = {"Upload-Offset": "0", "Content-Type": "application/octet-stream"}
    person.send("PATCH", f"/files/{pk}/part/", content=data, headers=headers)
    wait_until_read(site, pk)
    return pk


def wait_until_read(site: Installation, pk: str) -> None:
    script = f"""
import django
django.setup()
from chatapp.models import Attachment
print(Attachment.objects.get(pk="{pk}").state)
"""
    while (state := site.run(script).strip()) != "ready":
        assert state != "failed"
        sleep(0.2)


def write_presets(site: Installation, cast: Cast) -> None:
    fields = {"system_prompt": "Translate.\nBe brief.", "offers_all": "yes", "temperature": "0.2"}
    more = {"suggestions": "Bonjour\n\nBuenos días", "description": "Into English"}
    cast.ann.fill_in("new-preset", name="Translator", **fields, **more)
    preset = {"pk": find_id(site, "Preset", "name", "Translator")}
    cast.ann.fill_in("preset", preset, system_prompt="Translate everything.")
    group = find_id(site, "Group", "name", "Writers")
    cast.ann.fill_in("preset-sharing", preset, to=group, level="1")


async def chat_with_a_preset(site: Installation, ann: Browser) -> None:
    """Choose settings for a chat, and leave its first turn out of later requests."""
    preset = find_id(site, "Preset", "name", "Translator")
    settings = {"system_prompt": "Translate into verse.", "temperature": "0.7"}
    async with open_tab(site, ann.person) as tab:
        await ask(tab, "Guten Tag", preset=preset, **settings)
        rename(ann, tab, "Verse")
        await ask(tab, "Gute Nacht")
        reply = list_messages(site, "Verse")[1][0]
        up_to = {"up_to": reply, "message": reply}  # its name until 2026-11-29
        await act(tab, "leave_out", conversation=find_chat(site, "Verse"), **up_to)
        await tab.until(lambda: tab.page.root.find_all("section", class_="context-cut"))


def write_prompts(site: Installation, cast: Cast) -> None:
    cast.ann.fill_in("new-prompt", title="Stand-up", command="standup", text="Sum up {{topic}}")
    prompt = {"pk": find_id(site, "SavedPrompt", "title", "Stand-up")}
    cast.ann.fill_in("prompt", prompt, text="Sum up {{topic}} in one line")
    cast.ann.fill_in("prompt-sharing", prompt, to="everyone", level="1")


def create_tokens(ann: Browser) -> Keys:
    page = ann.fill_in("tokens", name="Laptop", days="0")
    [secret] = set(re.findall(r"\bsk-[\w-]{20,}|\bchatapp[-_][\w-]{20,}", page))
    response = ann.client.post(
        "/api/v1/chat/completions",
        json={
            "model": "Gateway/fable-large",
            "messages": [{"role": "user", "content": "By script"}],
        },
        headers={"Authorization": f"Bearer {secret}"},
    )
    assert response.status_code == 200, response.text
    return {"token": secret}


def share_chats(site: Installation, cast: Cast) -> Keys:
    """Share a chat as a snapshot with a person, and another as it goes on with everyone."""
    keys = {}
    for title, fields in (
        ("Rose", {"who": "named", "people": "ben", "live": "", "shows_files": "on"}),
        ("Sky", {"who": "everyone", "live": "on", "shows_reasoning": "on"}),
    ):
        path = site.path("share-chat", pk=find_chat(site, title))
        page = cast.ann.submit(path, days="0", **fields)
        keys[title] = re.findall(r"/s/[^/\"'<\s]+/", page)[0]
    return keys


def share_project(site: Installation, cast: Cast) -> None:
    project = {"pk": find_id(site, "Project", "name", "Garden")}
    cast.ben.fill_in("share-project", project, who="named", people="ann", right="add")


def import_chats(site: Installation, ann: Browser) -> None:
    """Import the exports of two other services."""
    for name, chats in (("chatgpt.zip", gpt_turn()), ("claude.zip", claude_turn())):
        file = build_zip({"conversations.json": [chats]})
        file.seek(0)
        data = file.read()
        response = ann.send("POST", "/imports/upload/", data={"name": name, "size": str(len(data))})
        answer = response.json()
        headers = {"Upload-Offset": "0", "Content-Type": "application/octet-stream"}
        path = f"/imports/files/{answer['files'][0]['id']}/part/"
        ann.send("PATCH", path, content=data, headers=headers)
        read = ann.send("POST", f"/imports/read/{answer['batch']}/").json()
        wait_for_jobs(site)
        ann.post(f"{read['url']}start/", {})
        wait_for_jobs(site)


def wait_for_jobs(site: Installation) -> None:
    script = """
import django
django.setup()
from chatapp.models import ChatExport, Import
states = {job.state for kind in (ChatExport, Import) for job in kind.objects.all()}
print(*states & {"waiting", "running"})
"""
    while site.run(script).strip():
        sleep(0.2)
