import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    # The trigger that fills the new column is made after migrating: see chatapp/models/conversations/messages/sequence.py.
    # Messages that are there already keep no number, and come first, in the order they had: so this
    # takes no longer where there are many.

    dependencies = [
        ('chatapp', '0003_no_answer_and_extras'),
    ]

    operations = [
        migrations.AddField(
            model_name='message',
            name='sequence',
            field=models.BigIntegerField(editable=False, null=True),
        ),
        migrations.AlterModelOptions(
            name='message',
            options={'ordering': [models.OrderBy(models.F('sequence'), nulls_first=True), 'created_at', 'choice', 'id']},
        ),
        migrations.AlterModelOptions(
            name='conversation',
            options={'ordering': ['-updated_at', '-id']},
        ),
        migrations.AddField(
            model_name='upstream',
            name='silence_seconds',
            field=models.PositiveIntegerField(db_default=300, default=300, help_text='Seconds without a byte after which a reply is given up. Models that think long and say nothing meanwhile need more; the page counts, and Stop is always there.', validators=[django.core.validators.MinValueValidator(5), django.core.validators.MaxValueValidator(86400)], verbose_name='longest silence'),
        ),
    ]
