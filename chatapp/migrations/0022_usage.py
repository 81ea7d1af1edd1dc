from django.db import migrations, models


def drop_triggers(apps, schema_editor):
    """They are made after `migrate`, and would write into tables that have gone."""
    on = '' if schema_editor.connection.vendor == 'sqlite' else ' ON chatapp_usage'
    for event in ('insert', 'update', 'delete'):
        schema_editor.execute(f'DROP TRIGGER IF EXISTS chatapp_usage_{event}{on}')


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0021_limits'),
    ]

    operations = [
        migrations.CreateModel(
            name='DailyUsage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('person', models.BigIntegerField()),
                ('upstream_name', models.CharField(max_length=100)),
                ('model', models.CharField(max_length=200)),
                ('booked', models.BigIntegerField(help_text='Rows of the ledger: replies, and titles.')),
                ('replies', models.BigIntegerField()),
                ('prompt_tokens', models.BigIntegerField()),
                ('cached_tokens', models.BigIntegerField()),
                ('completion_tokens', models.BigIntegerField()),
                ('reasoning_tokens', models.BigIntegerField()),
                ('estimated_tokens', models.BigIntegerField()),
                ('unknown', models.BigIntegerField(help_text='Rows of whose tokens nothing is known.')),
                ('cost', models.BigIntegerField(help_text='In nano-dollars.')),
                ('estimated_cost', models.BigIntegerField()),
                ('unpriced', models.BigIntegerField(help_text='Rows whose cost is not known.')),
                ('complete', models.BigIntegerField()),
                ('stopped', models.BigIntegerField(help_text='By who asked.')),
                ('limited', models.BigIntegerField(help_text='By a limit, a filter or the model itself.')),
                ('failed', models.BigIntegerField()),
                ('timed', models.BigIntegerField(help_text='Replies whose time to the first token is known.')),
                ('first_token_ms', models.BigIntegerField()),
                ('written_tokens', models.BigIntegerField(help_text='Of replies whose speed is known.')),
                ('written_ms', models.BigIntegerField(help_text='The time that those took.')),
            ],
            options={
                'verbose_name_plural': 'daily usage',
            },
        ),
        migrations.CreateModel(
            name='MonthlyUsage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('person', models.BigIntegerField()),
                ('upstream_name', models.CharField(max_length=100)),
                ('model', models.CharField(max_length=200)),
                ('booked', models.BigIntegerField(help_text='Rows of the ledger: replies, and titles.')),
                ('replies', models.BigIntegerField()),
                ('prompt_tokens', models.BigIntegerField()),
                ('cached_tokens', models.BigIntegerField()),
                ('completion_tokens', models.BigIntegerField()),
                ('reasoning_tokens', models.BigIntegerField()),
                ('estimated_tokens', models.BigIntegerField()),
                ('unknown', models.BigIntegerField(help_text='Rows of whose tokens nothing is known.')),
                ('cost', models.BigIntegerField(help_text='In nano-dollars.')),
                ('estimated_cost', models.BigIntegerField()),
                ('unpriced', models.BigIntegerField(help_text='Rows whose cost is not known.')),
                ('complete', models.BigIntegerField()),
                ('stopped', models.BigIntegerField(help_text='By who asked.')),
                ('limited', models.BigIntegerField(help_text='By a limit, a filter or the model itself.')),
                ('failed', models.BigIntegerField()),
                ('timed', models.BigIntegerField(help_text='Replies whose time to the first token is known.')),
                ('first_token_ms', models.BigIntegerField()),
                ('written_tokens', models.BigIntegerField(help_text='Of replies whose speed is known.')),
                ('written_ms', models.BigIntegerField(help_text='The time that those took.')),
            ],
            options={
                'verbose_name_plural': 'monthly usage',
            },
        ),
        migrations.AddField(
            model_name='usage',
            name='day',
            field=models.DateField(null=True),
        ),
        migrations.AddField(
            model_name='usage',
            name='duration_ms',
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='usage',
            name='ending',
            field=models.CharField(choices=[('complete', 'complete'), ('length', 'length'), ('content_filter', 'content_filter'), ('refused', 'refused'), ('no_answer', 'no_answer'), ('stopped', 'stopped'), ('abandoned', 'abandoned'), ('failed', 'failed'), ('cut_off', 'cut_off'), ('timed_out', 'timed_out'), ('interrupted', 'interrupted'), ('over_budget', 'over_budget')], db_default='', default='', max_length=14),
        ),
        migrations.AddField(
            model_name='usage',
            name='first_token_ms',
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AddIndex(
            model_name='usage',
            index=models.Index(condition=models.Q(('day', None)), fields=['day'], name='usage_of_no_day'),
        ),
        migrations.AddIndex(
            model_name='dailyusage',
            index=models.Index(fields=['person', 'day'], name='chatapp_dai_person_9e7b54_idx'),
        ),
        migrations.AddConstraint(
            model_name='dailyusage',
            constraint=models.UniqueConstraint(fields=('day', 'person', 'upstream_name', 'model'), name='one_daily_usage'),
        ),
        migrations.AddIndex(
            model_name='monthlyusage',
            index=models.Index(fields=['person', 'day'], name='chatapp_mon_person_1b1e9a_idx'),
        ),
        migrations.AddConstraint(
            model_name='monthlyusage',
            constraint=models.UniqueConstraint(fields=('day', 'person', 'upstream_name', 'model'), name='one_monthly_usage'),
        ),
        migrations.RunPython(migrations.RunPython.noop, drop_triggers),
    ]
