import django.db.models.deletion
import django.utils.timezone

import chatapp.models.platform.installation
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations, models
from django.db.models import Q
from django.utils import timezone

READS = ('view_conversation', 'change_conversation')


def keep_reading(apps, schema_editor):
    """Who could read conversations before can do so still."""
    users = apps.get_model('chatapp', 'User').objects
    granted = Q(user_permissions__codename__in=READS) | Q(groups__permissions__codename__in=READS)
    readers = users.filter(Q(is_superuser=True) | granted, is_staff=True).values_list('pk', flat=True)
    users.filter(pk__in=set(readers)).update(reviews=True)


def find_sessions(apps, schema_editor):
    """By their people, those that are open already; what is not known of a browser stays out."""
    known = set(apps.get_model('chatapp', 'User').objects.values_list('pk', flat=True))
    there = apps.get_model('sessions', 'Session').objects.filter(expire_date__gt=timezone.now())
    devices = []
    for session in there.iterator():
        user = SessionStore().decode(session.session_data).get('_auth_user_id', '')
        if str(user).isdecimal() and int(user) in known:
            devices.append((session.session_key, int(user)))
    Device = apps.get_model('chatapp', 'Device')
    Device.objects.bulk_create([Device(session_key=key, user_id=user) for key, user in devices], 500)


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0017_audit'),
        ('auth', '0012_alter_user_first_name_max_length'),
        ('sessions', '0001_initial'),
    ]

    operations = [
        migrations.AlterModelManagers(name='user', managers=[]),
        migrations.AddField(
            model_name='user',
            name='reviews',
            field=models.BooleanField(db_default=False, default=False, help_text="Reads everybody's conversations.", verbose_name='reviewer'),
        ),
        migrations.CreateModel(
            name='Device',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('session_key', models.CharField(max_length=40, unique=True)),
                ('agent', models.CharField(blank=True, max_length=300)),
                ('address', models.GenericIPAddressField(null=True)),
                ('began_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('seen_at', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='devices', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddField(
            model_name='user',
            name='seen_at',
            field=models.DateTimeField(editable=False, null=True, verbose_name='last seen'),
        ),
        migrations.AddField(
            model_name='installation',
            name='signup',
            field=models.CharField(choices=[('closed', 'Nobody: invitations rest, too'), ('invited', 'Who has an invitation'), ('domains', 'Also who has an e-mail address of these domains')], db_default='invited', default='invited', max_length=7, verbose_name='who may make an account'),
        ),
        migrations.AddField(
            model_name='installation',
            name='signup_domains',
            field=models.TextField(blank=True, db_default='', default='', help_text='One a line, for example example.org. Who reads mail there is sent a link.', validators=[chatapp.models.platform.installation.validate_domains], verbose_name='domains'),
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token_hash', models.CharField(max_length=64, unique=True)),
                ('address', models.EmailField(blank=True, max_length=254)),
                ('administers', models.BooleanField(default=False)),
                ('reviews', models.BooleanField(default=False)),
                ('uses', models.PositiveIntegerField(default=1)),
                ('used', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('group', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='auth.group')),
                ('made_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        # Last, since PostgreSQL can't alter a table while foreign keys of its rows wait to be checked.
        migrations.RunPython(keep_reading, migrations.RunPython.noop),
        migrations.RunPython(find_sessions, migrations.RunPython.noop),
    ]
