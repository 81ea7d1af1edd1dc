from django.conf import settings
from django.db import migrations, models
import django.db.models.deletion


class Migration(migrations.Migration):

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('chatapp', '0018_people'),
    ]

    operations = [
        migrations.AddField(
            model_name='installation',
            name='staff_second_factor',
            field=models.BooleanField(db_default=False, default=False, help_text='Administrators and reviewers without one are led to add it before they go on.', verbose_name='staff must have a second factor'),
        ),
        migrations.CreateModel(
            name='AccessRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('model', models.CharField(blank=True, default='', max_length=200)),
                ('groups', models.ManyToManyField(related_name='access_rules', to='auth.group')),
                ('tool_server', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chatapp.toolserver')),
                ('upstream', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chatapp.upstream')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('upstream', 'model'), name='access_rule_of_a_model'),
                    models.UniqueConstraint(fields=('tool_server',), name='access_rule_of_a_server'),
                    models.CheckConstraint(condition=models.Q(('upstream', None), ('tool_server', None), _connector='XOR'), name='access_rule_of_one_thing'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ClaimedGroup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='auth.group')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='claimed_groups', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'group'), name='one_claim_a_group')],
            },
        ),
    ]
