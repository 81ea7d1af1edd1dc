from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0045_closing_tabs'),
    ]

    operations = [
        migrations.AddField(
            model_name='review',
            name='decided_unopened',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
