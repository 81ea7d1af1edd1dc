from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0075_names_of_models'),
    ]

    operations = [
        migrations.AddField(
            model_name='chatsettings',
            name='allowed_tools',
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='toolserver',
            name='always_asks',
            field=models.BooleanField(db_default=False, default=False, help_text="People can't always allow a tool in a chat.", verbose_name='ask again in the same chat'),
        ),
    ]
