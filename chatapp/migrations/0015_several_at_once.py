from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0014_shelves'),
    ]

    operations = [
        migrations.AddField(
            model_name='message',
            name='slot',
            field=models.PositiveSmallIntegerField(db_default=0, default=0, help_text='Of several models that were asked at once.'),
        ),
    ]
