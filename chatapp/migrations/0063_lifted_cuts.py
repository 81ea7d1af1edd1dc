from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0062_usage_of_summaries'),
    ]

    operations = [
        migrations.AddField(
            model_name='contextcut',
            name='is_lifted',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
