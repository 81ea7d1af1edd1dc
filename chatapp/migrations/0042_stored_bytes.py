from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0041_sessions_and_addresses'),
    ]

    operations = [
        migrations.RenameField('conversation', 'forked_bytes', 'stored_bytes'),
    ]
