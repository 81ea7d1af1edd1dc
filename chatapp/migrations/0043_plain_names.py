import chatapp.models.platform.installation
import chatapp.models.platform.tool_servers
import chatapp.models.platform.upstreams
import datetime
import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Follow new names and descriptions of models. The tables stay as they are."""

    dependencies = [("chatapp", "0042_stored_bytes")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("ConversationFact", "ConversationFacet"),
                migrations.AlterModelTable("conversationfacet", "chatapp_conversationfact"),
                migrations.RenameModel("Hold", "TemporaryHold"),
                migrations.AlterModelTable("temporaryhold", "chatapp_hold"),
                migrations.RenameModel("Allowance", "BudgetAccount"),
                migrations.AlterModelTable("budgetaccount", "chatapp_allowance"),
                migrations.RenameModel("Share", "BudgetHold"),
                migrations.AlterModelTable("budgethold", "chatapp_share"),
                migrations.RemoveConstraint("budgethold", "one_share_a_reply"),
                migrations.RenameField("budgethold", "allowance", "account"),
                migrations.AddConstraint(
                    "budgethold",
                    models.UniqueConstraint(
                        fields=["message", "account"], name="one_share_a_reply"
                    ),
                ),
                migrations.AlterField(
                    model_name='auditevent',
                    name='actor',
                    field=models.BigIntegerField(help_text='A person; null for commands run in a terminal.', null=True),
                ),
                migrations.AlterField(
                    model_name='auditevent',
                    name='at',
                    field=models.DateTimeField(help_text="The database's time."),
                ),
                migrations.AlterField(
                    model_name='auditevent',
                    name='person',
                    field=models.BigIntegerField(help_text='The person it concerns.', null=True),
                ),
                migrations.AlterField(
                    model_name='budgetaccount',
                    name='limit',
                    field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='accounts', to='chatapp.limit'),
                ),
                migrations.AlterField(
                    model_name='budgetaccount',
                    name='overrun',
                    field=models.PositiveBigIntegerField(db_default=0, default=0, help_text='By how much replies exceeded the cap.'),
                ),
                migrations.AlterField(
                    model_name='budgetaccount',
                    name='since',
                    field=models.DateTimeField(default=datetime.datetime(2000, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), help_text='The start of the period.'),
                ),
                migrations.AlterField(
                    model_name='budgetaccount',
                    name='user',
                    field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='budget_accounts', to=settings.AUTH_USER_MODEL),
                ),
                migrations.AlterField(
                    model_name='budgethold',
                    name='account',
                    field=models.ForeignKey(db_column='allowance_id', on_delete=django.db.models.deletion.CASCADE, related_name='holds', to='chatapp.budgetaccount'),
                ),
                migrations.AlterField(
                    model_name='budgethold',
                    name='overrun',
                    field=models.PositiveBigIntegerField(default=0, help_text='By how much the cost exceeded what was held.'),
                ),
                migrations.AlterField(
                    model_name='budgethold',
                    name='process',
                    field=models.UUIDField(help_text='The process that runs the reply.'),
                ),
                migrations.AlterField(
                    model_name='budgethold',
                    name='since',
                    field=models.DateTimeField(default=datetime.datetime(2000, 1, 1, 0, 0, tzinfo=datetime.timezone.utc), help_text='The start of the period that was charged.'),
                ),
                migrations.AlterField(
                    model_name='dailyusage',
                    name='booked',
                    field=models.BigIntegerField(help_text='Rows of the ledger: replies and titles.'),
                ),
                migrations.AlterField(
                    model_name='dailyusage',
                    name='limited',
                    field=models.BigIntegerField(help_text='Ended by a limit, a filter or the model itself.'),
                ),
                migrations.AlterField(
                    model_name='dailyusage',
                    name='stopped',
                    field=models.BigIntegerField(help_text='Stopped by the person.'),
                ),
                migrations.AlterField(
                    model_name='dailyusage',
                    name='timed',
                    field=models.BigIntegerField(help_text='Replies with a known time to first token.'),
                ),
                migrations.AlterField(
                    model_name='dailyusage',
                    name='unknown',
                    field=models.BigIntegerField(help_text='Rows with unknown token counts.'),
                ),
                migrations.AlterField(
                    model_name='dailyusage',
                    name='unpriced',
                    field=models.BigIntegerField(help_text='Rows with unknown cost.'),
                ),
                migrations.AlterField(
                    model_name='dailyusage',
                    name='written_ms',
                    field=models.BigIntegerField(help_text='The time it took to write these tokens.'),
                ),
                migrations.AlterField(
                    model_name='dailyusage',
                    name='written_tokens',
                    field=models.BigIntegerField(help_text='Tokens of replies with a known speed.'),
                ),
                migrations.AlterField(
                    model_name='installation',
                    name='accent',
                    field=models.CharField(blank=True, db_default='', default='', help_text='The colour of links and buttons; dark pages use a lighter shade. The default is #1d6469.', max_length=7, validators=[chatapp.models.platform.installation.validate_accent], verbose_name='accent colour'),
                ),
                migrations.AlterField(
                    model_name='installation',
                    name='default_upstream',
                    field=models.ForeignKey(blank=True, help_text='Its model below is preselected for people who have not used one yet. Without one, the first in the list is preselected.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chatapp.upstream', verbose_name='upstream of new chats'),
                ),
                migrations.AlterField(
                    model_name='installation',
                    name='name',
                    field=models.CharField(blank=True, db_default='', default='', help_text='The name that people see: in titles, at sign-in, in emails and in authenticator apps. Without one: chatapp.', max_length=40, validators=[chatapp.models.platform.installation.validate_name]),
                ),
                migrations.AlterField(
                    model_name='installation',
                    name='notice',
                    field=models.TextField(blank=True, db_default='', default='', help_text='Shown above every new chat, as plain text: what people should know today, or whom to ask.', max_length=1000, verbose_name='message of the day'),
                ),
                migrations.AlterField(
                    model_name='installation',
                    name='signup',
                    field=models.CharField(choices=[('closed', 'Nobody, not even with an invitation'), ('invited', 'People with an invitation'), ('domains', 'People with an invitation, or with an email address of these domains')], db_default='invited', default='invited', max_length=7, verbose_name='who may make an account'),
                ),
                migrations.AlterField(
                    model_name='installation',
                    name='signup_domains',
                    field=models.TextField(blank=True, db_default='', default='', help_text='One per line, for example example.org. The sign-up link is sent to the address.', validators=[chatapp.models.platform.installation.validate_domains], verbose_name='domains'),
                ),
                migrations.AlterField(
                    model_name='installation',
                    name='staff_second_factor',
                    field=models.BooleanField(db_default=False, default=False, help_text='Administrators and reviewers without one must add it before they can continue.', verbose_name='staff must have a second factor'),
                ),
                migrations.AlterField(
                    model_name='installation',
                    name='title_model',
                    field=models.CharField(blank=True, help_text='A small, fast model is enough, for example gpt-4o-mini. It need not be one of those that people can choose.', max_length=200, verbose_name='model for titles'),
                ),
                migrations.AlterField(
                    model_name='installation',
                    name='title_upstream',
                    field=models.ForeignKey(blank=True, help_text='Its model reads the first prompt and the beginning of the reply, and writes a title. Without one, the title is the first words of the prompt.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chatapp.upstream', verbose_name='upstream for titles'),
                ),
                migrations.AlterField(
                    model_name='limit',
                    name='cap',
                    field=models.PositiveBigIntegerField(help_text='Money is in nano-dollars.', validators=[django.core.validators.MinValueValidator(0)]),
                ),
                migrations.AlterField(
                    model_name='message',
                    name='choice',
                    field=models.PositiveSmallIntegerField(default=0, help_text='Index among several choices.'),
                ),
                migrations.AlterField(
                    model_name='message',
                    name='earlier_rounds',
                    field=models.JSONField(blank=True, default=list, help_text='The rounds before the last tool calls.'),
                ),
                migrations.AlterField(
                    model_name='message',
                    name='extras_record',
                    field=models.JSONField(blank=True, db_column='extras', help_text='What came with the text; see `extras`.', null=True),
                ),
                migrations.AlterField(
                    model_name='message',
                    name='is_continuation',
                    field=models.BooleanField(db_default=False, default=False, help_text='A prompt that nobody typed: it asks for the rest of the reply before it.'),
                ),
                migrations.AlterField(
                    model_name='message',
                    name='is_flagged',
                    field=models.BooleanField(default=False, help_text="Flagged by the upstream's moderation."),
                ),
                migrations.AlterField(
                    model_name='message',
                    name='slot',
                    field=models.PositiveSmallIntegerField(db_default=0, default=0, help_text='Index among several models asked at once.'),
                ),
                migrations.AlterField(
                    model_name='message',
                    name='streamed_by',
                    field=models.UUIDField(editable=False, help_text='The id of the process.', null=True),
                ),
                migrations.AlterField(
                    model_name='monthlyusage',
                    name='booked',
                    field=models.BigIntegerField(help_text='Rows of the ledger: replies and titles.'),
                ),
                migrations.AlterField(
                    model_name='monthlyusage',
                    name='limited',
                    field=models.BigIntegerField(help_text='Ended by a limit, a filter or the model itself.'),
                ),
                migrations.AlterField(
                    model_name='monthlyusage',
                    name='stopped',
                    field=models.BigIntegerField(help_text='Stopped by the person.'),
                ),
                migrations.AlterField(
                    model_name='monthlyusage',
                    name='timed',
                    field=models.BigIntegerField(help_text='Replies with a known time to first token.'),
                ),
                migrations.AlterField(
                    model_name='monthlyusage',
                    name='unknown',
                    field=models.BigIntegerField(help_text='Rows with unknown token counts.'),
                ),
                migrations.AlterField(
                    model_name='monthlyusage',
                    name='unpriced',
                    field=models.BigIntegerField(help_text='Rows with unknown cost.'),
                ),
                migrations.AlterField(
                    model_name='monthlyusage',
                    name='written_ms',
                    field=models.BigIntegerField(help_text='The time it took to write these tokens.'),
                ),
                migrations.AlterField(
                    model_name='monthlyusage',
                    name='written_tokens',
                    field=models.BigIntegerField(help_text='Tokens of replies with a known speed.'),
                ),
                migrations.AlterField(
                    model_name='process',
                    name='is_alone',
                    field=models.BooleanField(help_text='It cannot reach other processes, since REDIS_URL is not set.'),
                ),
                migrations.AlterField(
                    model_name='process',
                    name='place',
                    field=models.CharField(help_text='The host, and the namespace of its process ids.', max_length=300),
                ),
                migrations.AlterField(
                    model_name='project',
                    name='instructions',
                    field=models.TextField(blank=True, help_text='Sent to the model before the conversation.'),
                ),
                migrations.AlterField(
                    model_name='review',
                    name='verdict',
                    field=models.CharField(blank=True, choices=[('fine', 'Fine'), ('minor', 'Minor issue'), ('serious', 'Serious issue'), ('unclear', 'Unclear')], max_length=7),
                ),
                migrations.AlterField(
                    model_name='suggestion',
                    name='position',
                    field=models.PositiveSmallIntegerField(default=0, help_text='Lower numbers come first. Eight are shown.'),
                ),
                migrations.AlterField(
                    model_name='suggestion',
                    name='text',
                    field=models.CharField(help_text='Sent as it is when a person clicks on it on an empty page.', max_length=200),
                ),
                migrations.AlterField(
                    model_name='toolserver',
                    name='asks_first',
                    field=models.BooleanField(default=True, help_text='People must allow each call.', verbose_name='ask first'),
                ),
                migrations.AlterField(
                    model_name='toolserver',
                    name='command',
                    field=models.CharField(blank=True, help_text="The program with its arguments, quoted as in a shell, but run without one. It runs on this machine with the app's rights, so only superusers may set it.", max_length=1000, validators=[chatapp.models.platform.tool_servers.validate_command]),
                ),
                migrations.AlterField(
                    model_name='toolserver',
                    name='enabled',
                    field=models.BooleanField(default=True, help_text='Models may call its tools.'),
                ),
                migrations.AlterField(
                    model_name='toolserver',
                    name='name',
                    field=models.CharField(help_text="The prefix of its tools' names for models, for example company-wiki__search.", max_length=30, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9]+(-[a-z0-9]+)*\\Z', 'Use lower-case letters, digits and single hyphens, for example company-wiki.')]),
                ),
                migrations.AlterField(
                    model_name='toolserver',
                    name='result_limit_kb',
                    field=models.PositiveIntegerField(default=100, help_text='Longer results are cut. The result is sent to the model and costs tokens.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)], verbose_name='result limit (kB)'),
                ),
                migrations.AlterField(
                    model_name='toolserver',
                    name='unasked_tools',
                    field=models.TextField(blank=True, help_text='One per line, as the server names them.', verbose_name='tools that run without asking'),
                ),
                migrations.AlterField(
                    model_name='upstream',
                    name='base_url',
                    field=models.CharField(help_text='Up to and including /v1, for example https://host/v1.', max_length=500, validators=[chatapp.models.platform.upstreams.validate_base_url], verbose_name='base URL'),
                ),
                migrations.AlterField(
                    model_name='upstream',
                    name='dialect',
                    field=models.CharField(choices=[('auto', 'Automatic'), ('opentoken', 'OpenToken'), ('openai', 'OpenAI'), ('aivene', 'Aivene'), ('aigateway', 'AI Gateway')], default='auto', help_text='Automatic works with any upstream; naming the server avoids fields that it does not need.', max_length=20),
                ),
                migrations.AlterField(
                    model_name='upstream',
                    name='drains_stopped',
                    field=models.BooleanField(default=False, help_text='Read on after Stop to get the exact usage. This costs tokens that nobody reads.', verbose_name='read on after Stop'),
                ),
                migrations.AlterField(
                    model_name='upstream',
                    name='enabled',
                    field=models.BooleanField(default=True, help_text='People can choose its models in the chat.'),
                ),
                migrations.AlterField(
                    model_name='upstream',
                    name='offered_models',
                    field=models.TextField(blank=True, help_text='One per line, in the order in which people see them, optionally with a name: gpt-4o = The fast one. If empty, all models that the upstream lists.', validators=[chatapp.models.platform.upstreams.validate_offered_models], verbose_name='models'),
                ),
                migrations.AlterField(
                    model_name='upstream',
                    name='offers_clock',
                    field=models.BooleanField(db_default=True, default=True, help_text='The built-in tool that returns the date and time; it is offered in every request that offers tools.', verbose_name='offer the clock'),
                ),
                migrations.AlterField(
                    model_name='upstream',
                    name='offers_tools',
                    field=models.BooleanField(default=True, help_text='Its models may call the built-in tool and those of tool servers.'),
                ),
                migrations.AlterField(
                    model_name='upstream',
                    name='parameters',
                    field=models.JSONField(blank=True, default=dict, help_text='Sent with every request, for example {"temperature": 0.2, "n": 2, "logprobs": true}.', validators=[chatapp.models.platform.upstreams.validate_parameters], verbose_name='request parameters'),
                ),
                migrations.AlterField(
                    model_name='upstream',
                    name='silence_seconds',
                    field=models.PositiveIntegerField(db_default=300, default=300, help_text='Seconds without a byte after which a reply ends as timed out. Models that think for long without sending anything need more. The page shows the time, and people can stop.', validators=[django.core.validators.MinValueValidator(5), django.core.validators.MaxValueValidator(86400)], verbose_name='longest silence'),
                ),
                migrations.AlterField(
                    model_name='upstreamfailure',
                    name='kind',
                    field=models.CharField(help_text='The kind of the error, or the ending if there was none.', max_length=20),
                ),
                migrations.AlterField(
                    model_name='user',
                    name='reviews',
                    field=models.BooleanField(db_default=False, default=False, help_text='Can read conversations as far as the review policy allows.', verbose_name='reviewer'),
                ),
                migrations.AlterField(
                    model_name='limit',
                    name='period',
                    field=models.CharField(choices=[('day', 'a day'), ('month', 'a month'), ('ever', 'in total')], default='month', max_length=5),
                ),
            ]
        ),
    ]
