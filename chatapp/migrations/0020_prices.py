import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0019_access_rules'),
    ]

    operations = [
        migrations.AddField(
            model_name='usage',
            name='cost',
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='usage',
            name='price',
            field=models.JSONField(editable=False, null=True),
        ),
        migrations.CreateModel(
            name='Price',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(max_length=200)),
                ('source', models.CharField(choices=[('gateway', "the gateway's own list"), ('administrator', 'an administrator'), ('genai-prices', 'genai-prices')], default='administrator', max_length=13)),
                ('holds_from', models.DateTimeField(default=django.utils.timezone.now)),
                ('input', models.PositiveBigIntegerField(blank=True, null=True)),
                ('cached', models.PositiveBigIntegerField(blank=True, null=True)),
                ('cache_write', models.PositiveBigIntegerField(blank=True, null=True)),
                ('output', models.PositiveBigIntegerField(blank=True, null=True)),
                ('reasoning', models.PositiveBigIntegerField(blank=True, null=True)),
                ('context_tokens', models.PositiveBigIntegerField(blank=True, null=True)),
                ('upstream', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='prices', to='chatapp.upstream')),
            ],
            options={
                'ordering': ['model', '-holds_from', '-id'],
            },
        ),
        migrations.AddIndex(
            model_name='price',
            index=models.Index(fields=['upstream', 'model', '-holds_from'], name='chatapp_pri_upstrea_eaeb02_idx'),
        ),
    ]
