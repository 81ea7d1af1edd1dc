import datetime
import django.core.validators
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('chatapp', '0020_prices'),
    ]

    operations = [
        migrations.AlterField(
            model_name='message',
            name='ending',
            field=models.CharField(blank=True, choices=[('streaming', 'streaming'), ('complete', 'complete'), ('length', 'length'), ('content_filter', 'content_filter'), ('refused', 'refused'), ('no_answer', 'no_answer'), ('stopped', 'stopped'), ('abandoned', 'abandoned'), ('failed', 'failed'), ('cut_off', 'cut_off'), ('timed_out', 'timed_out'), ('interrupted', 'interrupted'), ('over_budget', 'over_budget')], help_text='Why a reply ended; empty for prompts.', max_length=14),
        ),
        migrations.CreateModel(
            name='Limit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('measure', models.CharField(choices=[('tokens', 'tokens'), ('money', 'US dollars'), ('a_minute', 'replies a minute'), ('at_once', 'replies at once')], max_length=8)),
                ('cap', models.PositiveBigIntegerField(help_text='In nano-dollars where it is money.', validators=[django.core.validators.MinValueValidator(0)])),
                ('period', models.CharField(choices=[('day', 'a day'), ('month', 'a month'), ('ever', 'for good')], default='month', max_length=5)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('is_each', models.BooleanField(default=False, verbose_name='for each person apart')),
                ('whom_to_ask', models.CharField(blank=True, max_length=100)),
                ('group', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='limits', to='auth.group')),
                ('upstream', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='limits', to='chatapp.upstream')),
                ('user', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='limits', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['measure', 'period', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Allowance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since', models.DateTimeField(default=datetime.datetime(2000, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), help_text='The period that this is spent in.')),
                ('spent', models.PositiveBigIntegerField(db_default=0, default=0)),
                ('held', models.PositiveBigIntegerField(db_default=0, default=0)),
                ('overrun', models.PositiveBigIntegerField(db_default=0, default=0, help_text='By how much replies went beyond the cap.')),
                ('user', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='allowances', to=settings.AUTH_USER_MODEL)),
                ('limit', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='allowances', to='chatapp.limit')),
            ],
        ),
        migrations.CreateModel(
            name='Share',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('message', models.UUIDField()),
                ('process', models.UUIDField(help_text='In which the reply streams.')),
                ('held', models.PositiveBigIntegerField(default=0)),
                ('spent', models.PositiveBigIntegerField(default=0)),
                ('since', models.DateTimeField(default=datetime.datetime(2000, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), help_text='The period it was charged to.')),
                ('overrun', models.PositiveBigIntegerField(default=0, help_text='By how much it cost more than was held for it.')),
                ('settled_at', models.DateTimeField(null=True)),
                ('allowance', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='chatapp.allowance')),
            ],
        ),
        migrations.AddConstraint(
            model_name='allowance',
            constraint=models.UniqueConstraint(fields=('limit', 'user'), name='one_allowance_a_person'),
        ),
        migrations.AddConstraint(
            model_name='allowance',
            constraint=models.UniqueConstraint(condition=models.Q(('user', None)), fields=('limit',), name='one_allowance_for_all'),
        ),
        migrations.AddIndex(
            model_name='share',
            index=models.Index(condition=models.Q(('settled_at', None)), fields=['process'], name='shares_held'),
        ),
        migrations.AddConstraint(
            model_name='share',
            constraint=models.UniqueConstraint(fields=('message', 'allowance'), name='one_share_a_reply'),
        ),
    ]
