"""A preset keeps the versions that chats use, and outlives the upstream of its model."""

from datetime import timedelta

import pytest
from django.utils import timezone

from chatapp.erasure.people import erase
from chatapp.models import ChatSettings, ModelChoice, Preset, PresetVersion, Upstream, User
from chatapp.models.library.sharing import Level

pytestmark = pytest.mark.django_db


@pytest.fixture
def upstream() -> Upstream:
    return Upstream.objects.create(name="Fake", base_url="http://127.0.0.1:9/v1")


@pytest.fixture
def preset(alice: User, upstream: Upstream) -> Preset:
    return Preset.start(
        alice, name="Translator", system_prompt="Translate", upstream_id=upstream.pk, model="one"
    )


def test_a_version_has_all_of_the_content(preset: Preset, alice: User, upstream: Upstream) -> None:
    preset.change(
        alice,
        1,
        icon="languages",
        description="Into English",
        parameters={"temperature": 0.2},
        tools=["clock", 3],
        suggestions=["Translate this"],
        takes_memory=False,
    )
    newest, first = preset.versions.all()
    content = {name: getattr(newest, name) for name in Preset.CONTENT}
    preset.refresh_from_db()
    assert content == preset.content
    assert content["tools"] == ["clock", 3]
    assert (first.icon, first.parameters, first.tools, first.takes_memory) == (
        *("sliders", {}, None, True),
    )
    assert newest.preselected_model == ModelChoice(upstream.pk, "one")


def test_a_deleted_upstream_leaves_the_choice_and_all_versions(
    preset: Preset, alice: User, upstream: Upstream
) -> None:
    preset.change(alice, 1, system_prompt="Translate well")
    upstream.delete()
    preset.refresh_from_db()
    assert (preset.preselected_model, preset.model) == (None, "one")
    preset.change(alice, 2, **preset.get_version_content(1))
    assert [(version.number, version.preselected_model) for version in preset.versions.all()] == [
        *((3, None), (2, None), (1, None)),
    ]


def test_a_preset_without_a_list_of_tools_offers_all() -> None:
    for tools, offered in ((None, (True, True)), ([], (False, False)), (["clock"], (True, False))):
        assert (Preset(tools=tools).offers("clock"), Preset(tools=tools).offers(3)) == offered


def with_chat(alice: User, preset: Preset) -> ChatSettings:
    """Return the settings of a chat that has the preset's newest version."""
    chat = alice.conversations.create(title="A chat")
    return ChatSettings.objects.create(conversation=chat, preset_version=preset.newest)


def test_versions_that_chats_have_are_kept(
    preset: Preset, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatapp.models.library.versions.MAX_VERSIONS", 2)
    with_chat(alice, preset)
    for number in range(1, 5):
        preset.change(alice, number, name=f"Name {number}")
    assert [version.number for version in preset.versions.all()] == [5, 4, 1]
    ChatSettings.objects.all().delete()
    preset.change(alice, 5, name="Name 5")
    assert [version.number for version in preset.versions.all()] == [6, 5]


def test_a_deleted_preset_goes_after_its_days_once_no_chat_has_it(
    preset: Preset, alice: User
) -> None:
    settings = with_chat(alice, preset)
    preset.discard()
    assert not Preset.objects.purge()
    Preset.objects.update(deleted_at=timezone.now() - timedelta(days=31))
    assert not Preset.objects.purge()
    settings.conversation.delete()
    assert Preset.objects.purge()
    assert not PresetVersion.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("disk")
def test_a_shared_preset_passes_to_an_administrator(
    preset: Preset, alice: User, olive: User
) -> None:
    Preset.start(alice, name="Personal")
    preset.share(None, Level.USE, alice)
    [report] = erase([alice], olive)
    assert Preset.objects.get().owner == olive
    assert "belong to an administrator now (presets: 1)" in report.sentence
