from django.db import migrations, models


class Migration(migrations.Migration):
    # Apart from 0015, whose lock on the messages would keep readers waiting while this is built; and
    # the new constraint before the stricter one that it replaces goes.

    dependencies = [
        ('chatapp', '0015_several_at_once'),
    ]

    operations = [
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(condition=models.Q(('ending', 'streaming')), fields=('conversation', 'slot'), name='message_one_streams_a_slot'),
        ),
        migrations.RemoveConstraint(
            model_name='message',
            name='message_one_streams',
        ),
    ]
