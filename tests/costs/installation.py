"""The content of the counted app; it runs in a process of the app."""

import json

from chatapp.models import (
    AccessToken,
    Attachment,
    Conversation,
    FileContent,
    Installation,
    Preset,
    Project,
    SavedPrompt,
    StoredFile,
    Upstream,
    User,
    index_some,
)
from chatapp.models.conversations.chats.projects import ProjectMember
from chatapp.models.sharing.shared_chats import Audience, Share
from tests.support.stored import store_turn

CHATS, LONG_CHATS, TURNS = 47, 8, 10
SEARCHED = "Aurora"  # the title of the only chat that a search finds


def furnish(username: str) -> str:
    """Return the addresses of what it makes, as JSON."""
    alice, olive = User.objects.get(username=username), User.objects.get(username="olive")
    upstream = Upstream.objects.get()
    Installation(pk=1, who_uses_api="everyone").save()
    short = [
        make_chat(alice, upstream, f"Chat {number}", 1) for number in range(CHATS - LONG_CHATS - 1)
    ]
    make_chat(alice, upstream, SEARCHED, TURNS)
    long = [make_chat(alice, upstream, f"Long {number}", TURNS) for number in range(LONG_CHATS)]
    project = Project.objects.create(user=olive, name="Team")
    member = ProjectMember(target=project, person=alice, may_add=True)
    project.share([member], olive)
    preset = Preset.start(alice, name="Poet", system_prompt="Rhyme.", suggestions=[])
    for number in range(20):
        SavedPrompt.start(alice, title=f"Prompt {number}", text="Sum up {{topic}}")
    while index_some():
        pass
    link = Share(long[0].pk, Audience(is_everyone=True)).store(alice)[1]
    _, secret = AccessToken.issue(alice, "script", ["chat", "models"], None)
    return json.dumps(
        {
            "chat": f"/c/{short[0].pk}/",
            "chats": [f"/c/{chat.pk}/" for chat in long],
            "project": str(project.pk),
            "preset": str(preset.pk),
            "shared": f"/s/{link}/",
            "secret": secret,
            "person": f"/people/{alice.pk}/",
        }
    )


def make_chat(user: User, upstream: Upstream, title: str, turns: int) -> Conversation:
    chat, last = Conversation(user=user, title=title), None
    for number in range(turns):
        _, last = store_turn(chat, upstream, f"{title}, question {number}?", last)
    return chat


def attach(username: str) -> None:
    """Put a file that was read into the draft of the person's next new chat."""
    user, text = User.objects.get(username=username), "Notes"
    file = StoredFile.store(text.encode(), user.pk)
    FileContent.objects.get_or_create(
        file=file, kind="document", label="Text", media_type="text/plain", text=text
    )
    Attachment.objects.create(
        user=user, name="note.txt", size=len(text), received=len(text), state="ready", file=file
    )
