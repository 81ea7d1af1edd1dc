from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations, models
from django.db.models import Exists, OuterRef
from django.utils.http import base36_to_int

AT_ONCE = 500


def find_sessions(apps, schema_editor):
    """By their people, those that have no device: it was stored with a page, and may be missing.
    Those in which a second factor is asked for had none."""
    Device = apps.get_model('chatapp', 'Device')
    known = set(apps.get_model('chatapp', 'User').objects.values_list('pk', flat=True))
    device = Device.objects.filter(session_key=OuterRef('session_key'))
    lacking = apps.get_model('sessions', 'Session').objects.filter(~Exists(device))
    devices = []
    for session in lacking.iterator():
        data = SessionStore().decode(session.session_data)
        signed_in, begun = data.get('_auth_user_id'), data.get('account_login') or {}
        user = int(signed_in or 0) or base36_to_int(begun.get('user_pk') or '0')
        if user in known:
            devices.append(
                Device(session_key=session.session_key, user_id=user, is_signed_in=bool(signed_in))
            )
    Device.objects.bulk_create(devices, AT_ONCE, ignore_conflicts=True)


def forget_former_addresses(apps, schema_editor):
    """Of invitations that were used: their account has another address now, or was erased."""
    users = apps.get_model('chatapp', 'User').objects.filter(email__iexact=OuterRef('address'))
    used = apps.get_model('chatapp', 'Invitation').objects.filter(used__gt=0).exclude(address='')
    used.filter(~Exists(users)).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0040_upstream_failures'),
        ('sessions', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='device',
            name='is_signed_in',
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.RunPython(find_sessions, migrations.RunPython.noop),
        migrations.RunPython(forget_former_addresses, migrations.RunPython.noop),
    ]
