import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0011_ledger_titles_temporary'),
    ]

    operations = [
        migrations.AddField(
            model_name='conversation',
            name='indexed_title',
            field=models.CharField(editable=False, max_length=80, null=True),
        ),
        migrations.AddField(
            model_name='message',
            name='indexed_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.CreateModel(
            name='SearchEntry',
            fields=[
                ('id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chatapp.conversation')),
                ('message', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chatapp.message')),
            ],
            options={
                'indexes': [models.Index(fields=['user', 'id'], name='chatapp_sea_user_id_0e9e0f_idx')],
            },
        ),
    ]
