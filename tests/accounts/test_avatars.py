"""People's own pictures."""

import io

import pytest
from django.test import Client
from PIL import Image

from chatapp.models import AuditEvent, Avatar, Project, ProjectMember, User
from tests.conftest import signed_in

pytestmark = pytest.mark.django_db

CHANGE = "/accounts/profile/picture/"


def photo(format_: str = "JPEG", side: int = 900) -> io.BytesIO:
    file = io.BytesIO()
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    Image.new("RGB", (side, side), "green").save(file, format_, exif=exif)
    file.seek(0)
    file.name = f"me.{format_.lower()}"
    return file


def choose(client: Client, file: io.BytesIO) -> str:
    return client.post(CHANGE, {"picture": file}, follow=True).text


def test_a_picture_is_encoded_again_and_shown(alice: User, alices: Client) -> None:
    assert "Your picture was saved." in choose(alices, photo())
    alice.refresh_from_db()
    address = f"/accounts/pictures/{alice.avatar_version}/"
    assert address in alices.get("/").text
    served = alices.get(address)
    assert served["Content-Type"] == "image/jpeg"
    assert b"taken at home" not in served.content
    assert Image.open(io.BytesIO(served.content)).size == (512, 512)
    assert AuditEvent.objects.get(action="person.changed").actor == alice.pk


def test_a_picture_can_be_replaced_and_removed(alice: User, alices: Client) -> None:
    choose(alices, photo())
    choose(alices, photo("PNG", 90))
    assert Avatar.objects.get().media_type == "image/png"
    assert "Your picture was removed." in alices.post(CHANGE, {"remove": ""}, follow=True).text
    assert not Avatar.objects.exists()
    alice.refresh_from_db()
    assert alice.avatar_version == ""


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"words", "This file is not an image. Choose a PNG, JPEG, WebP or GIF image."),
        (b"\x89PNG\r\n\x1a\nbroken", "This image file is damaged or incomplete."),
        (b"x" * (1024 * 1024 + 1), "This file is too large. The limit is 1 MiB."),
        (b"", "The submitted file is empty."),
    ],
)
def test_what_is_no_picture_is_refused(alices: Client, content: bytes, sentence: str) -> None:
    file = io.BytesIO(content)
    file.name = "me.png"
    assert sentence in choose(alices, file)
    assert not Avatar.objects.exists()


def test_members_of_a_project_see_each_other(alice: User, bob: User, alices: Client) -> None:
    choose(alices, photo())
    alice.refresh_from_db()
    address = f"/accounts/pictures/{alice.avatar_version}/"
    project = Project.objects.create(user=bob, name="Garden")
    ProjectMember.objects.create(target=project, person=alice)
    page = signed_in(bob).get(f"/projects/{project.pk}/sharing/").text
    assert address in page
    assert signed_in(bob).get(address).status_code == 200
    assert Client().get(address).status_code == 302
