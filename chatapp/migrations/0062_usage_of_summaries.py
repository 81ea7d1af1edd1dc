from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0061_usage_by_preset'),
    ]

    operations = [
        migrations.AddField(
            model_name='usage',
            name='conversation',
            field=models.UUIDField(editable=False, null=True),
        ),
        migrations.AddIndex(
            model_name='usage',
            index=models.Index(condition=models.Q(('conversation__isnull', False)), fields=['conversation'], name='usage_of_summaries'),
        ),
    ]
