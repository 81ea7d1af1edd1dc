from hashlib import sha256

from django.db import migrations

LONGEST_UID = 191


def add_issuers(apps, schema_editor):
    """An identity whose stored ID token names no issuer keeps its key, by which nobody signs in."""
    for identity, token in identities(apps):
        if identity.uid == token.get("sub") and token.get("iss"):
            identity.uid = uid_of(token)
            identity.save(update_fields=["uid"])


def drop_issuers(apps, schema_editor):
    SocialAccount = apps.get_model("socialaccount", "SocialAccount")
    for identity, token in identities(apps):
        subject = token.get("sub")
        is_taken = SocialAccount.objects.filter(provider="oidc", uid=subject).exists()
        if subject and identity.uid == uid_of(token) and not is_taken:
            identity.uid = subject
            identity.save(update_fields=["uid"])


def identities(apps):
    SocialAccount = apps.get_model("socialaccount", "SocialAccount")
    for identity in list(SocialAccount.objects.filter(provider="oidc")):
        token = identity.extra_data.get("id_token")
        if isinstance(token, dict):
            yield identity, token


def uid_of(token):
    uid = f"{token.get('iss')} {token['sub']}"
    return uid if len(uid) <= LONGEST_UID else sha256(uid.encode()).hexdigest()


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0038_forked_bytes'),
        ('socialaccount', '0006_alter_socialaccount_extra_data'),
    ]

    operations = [
        migrations.RunPython(add_issuers, drop_issuers),
    ]
