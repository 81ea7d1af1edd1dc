from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0076_allowed_tools'),
    ]

    operations = [
        migrations.AddField(
            model_name='chatsettings',
            name='off_servers',
            field=models.JSONField(blank=True, null=True),
        ),
    ]
