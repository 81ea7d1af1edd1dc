import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0024_review_policy'),
    ]

    operations = [
        migrations.CreateModel(
            name='Feedback',
            fields=[
                ('message', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='feedback', serialize=False, to='chatapp.message')),
                ('rating', models.CharField(choices=[('up', 'Up'), ('down', 'Down')], max_length=4)),
                ('note', models.TextField(blank=True, max_length=1000)),
                ('given_at', models.DateTimeField()),
            ],
            options={
                'verbose_name_plural': 'feedback',
            },
        ),
    ]
