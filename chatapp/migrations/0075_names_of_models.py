from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0074_files_of_people'),
    ]

    operations = [
        migrations.AddField(
            model_name='upstream',
            name='model_names',
            field=models.JSONField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='price',
            name='source',
            field=models.CharField(choices=[('gateway', "the provider's own list"), ('administrator', 'entered here'), ('genai-prices', 'genai-prices')], default='administrator', max_length=13),
        ),
    ]
