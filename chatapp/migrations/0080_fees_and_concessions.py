from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0079_avatars'),
    ]

    operations = [
        migrations.AddField(
            model_name='dailyusage',
            name='with_fees',
            field=models.BigIntegerField(db_default=0, help_text='Rows whose cost leaves out fees for searches or tools.'),
        ),
        migrations.AddField(
            model_name='monthlyusage',
            name='with_fees',
            field=models.BigIntegerField(db_default=0, help_text='Rows whose cost leaves out fees for searches or tools.'),
        ),
        migrations.AddField(
            model_name='upstream',
            name='model_concessions',
            field=models.JSONField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='usage',
            name='extra_fees',
            field=models.PositiveBigIntegerField(null=True),
        ),
    ]
