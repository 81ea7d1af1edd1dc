from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chatapp', '0044_saved_filters'),
    ]

    operations = [
        migrations.AddField(
            model_name='installation',
            name='closing',
            field=models.CharField(choices=[('stop', 'Stop replies'), ('choose', 'Let people choose; stop replies unless they choose otherwise'), ('finish', 'Finish replies')], db_default='choose', default='choose', help_text='A reply that goes on costs tokens, even if nobody reads it. Replies in temporary chats always stop.', max_length=6, verbose_name='when someone closes their last tab'),
        ),
        migrations.AddField(
            model_name='user',
            name='finishes_replies',
            field=models.BooleanField(db_default=False, default=False, verbose_name='finish replies when I close the tab'),
        ),
    ]
