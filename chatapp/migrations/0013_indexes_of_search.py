from django.db import migrations, models


class Migration(migrations.Migration):
    # Apart from 0012_search, whose locks would keep readers waiting while these are built.

    dependencies = [
        ('chatapp', '0012_search'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(condition=models.Q(('indexed_title', models.F('title')), _negated=True), fields=['id'], name='title_to_be_indexed'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('indexed_at', None)), fields=['created_at'], name='message_to_be_indexed'),
        ),
    ]
