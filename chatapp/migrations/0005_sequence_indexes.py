from django.db import migrations, models


class Migration(migrations.Migration):
    # Apart from 0005, whose lock on the messages would keep readers waiting while these are built;
    # and each new index before the one that it replaces goes.

    dependencies = [
        ('chatapp', '0004_message_sequence'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(fields=['user', '-updated_at', '-id'], name='chatapp_con_user_id_5c5c0c_idx'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['conversation', 'sequence'], name='chatapp_mes_convers_b9d885_idx'),
        ),
        migrations.RemoveIndex(
            model_name='conversation',
            name='chatapp_con_user_id_21f2a7_idx',
        ),
        migrations.RemoveIndex(
            model_name='message',
            name='chatapp_mes_convers_a233cb_idx',
        ),
    ]
