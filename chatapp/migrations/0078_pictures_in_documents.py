from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0077_servers_switched_off'),
    ]

    operations = [
        migrations.AddField(
            model_name='filecontent',
            name='left_out',
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name='pageimage',
            name='offset',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='pageimage',
            name='page',
            field=models.PositiveSmallIntegerField(null=True),
        ),
    ]
