import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Texts only: nothing in the database changes."""

    dependencies = [
        ('llm_app', '0006_help_texts'),
        ('tasks_app', '0006_agent_switches'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='loaded',
            options={'verbose_name_plural': 'loaded tools and skills'},
        ),
        migrations.AlterField(
            model_name='agent',
            name='denied_tools',
            field=models.JSONField(blank=True, default=list, help_text='Names of tools that it may never use.'),
        ),
        migrations.AlterField(
            model_name='agent',
            name='hooks',
            field=models.JSONField(blank=True, default=list, help_text="Names of the hooks that check its calls, besides the plugins that check every agent's."),
        ),
        migrations.AlterField(
            model_name='agent',
            name='is_default',
            field=models.BooleanField(default=False, help_text='Used for new sessions that name no agent.'),
        ),
        migrations.AlterField(
            model_name='agent',
            name='model',
            field=models.ForeignKey(blank=True, help_text='Used where the session names no model.', null=True, on_delete=django.db.models.deletion.SET_NULL, to='llm_app.logicalmodel'),
        ),
        migrations.AlterField(
            model_name='agent',
            name='prune_outputs',
            field=models.BooleanField(default=False, help_text='When a session gets too long, first leave out old tool results, except the newest 40,000 tokens.'),
        ),
        migrations.AlterField(
            model_name='agent',
            name='review_model',
            field=models.ForeignKey(blank=True, help_text='The model that reviews results. Empty: fixed rules review them, at no cost.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='llm_app.logicalmodel'),
        ),
        migrations.AlterField(
            model_name='agent',
            name='shorten_results',
            field=models.BooleanField(default=False, help_text='Then replace results older than four turns by their length and kind.'),
        ),
        migrations.AlterField(
            model_name='agent',
            name='summarise',
            field=models.BooleanField(default=False, help_text='Then have the model summarize what is cut, as a visible entry. This costs one call each time.'),
        ),
        migrations.AlterField(
            model_name='agent',
            name='withheld_patterns',
            field=models.JSONField(blank=True, default=list, help_text='Regular expressions for the output filter. If there are any, the filter is on and messages are not streamed.'),
        ),
        migrations.AlterField(
            model_name='approval',
            name='expires_at',
            field=models.DateTimeField(blank=True, help_text='If it is undecided at this time, it is rejected.', null=True),
        ),
        migrations.AlterField(
            model_name='approval',
            name='scope',
            field=models.CharField(choices=[('once', 'This call'), ('task', 'Similar calls in this task')], default='once', max_length=4),
        ),
        migrations.AlterField(
            model_name='contextcut',
            name='tokens_before',
            field=models.PositiveIntegerField(help_text='The size of the whole request.'),
        ),
        migrations.AlterField(
            model_name='contextcut',
            name='window',
            field=models.PositiveIntegerField(help_text="The model's window, in tokens."),
        ),
        migrations.AlterField(
            model_name='contextentry',
            name='hash_key',
            field=models.CharField(help_text='The id of the key that the hash was made with.', max_length=16),
        ),
        migrations.AlterField(
            model_name='contextentry',
            name='masked_with',
            field=models.CharField(blank=True, help_text='The version of the secrets that were redacted in it; later secrets are redacted on reading.', max_length=16),
        ),
        migrations.AlterField(
            model_name='contextentry',
            name='tool_call_id',
            field=models.CharField(blank=True, help_text='For a result: the call that it belongs to.', max_length=100),
        ),
        migrations.AlterField(
            model_name='idempotencykey',
            name='request_sha256',
            field=models.CharField(help_text='SHA-256 of method, path and body.', max_length=64),
        ),
        migrations.AlterField(
            model_name='inboxmessage',
            name='delivered_seq',
            field=models.PositiveIntegerField(blank=True, help_text='The entry that it was appended as.', null=True),
        ),
        migrations.AlterField(
            model_name='inboxmessage',
            name='images',
            field=models.JSONField(blank=True, default=list, help_text='The attached images, as they are named in entries.'),
        ),
        migrations.AlterField(
            model_name='inboxmessage',
            name='output_schema',
            field=models.TextField(blank=True, help_text='For the task that the message starts.'),
        ),
        migrations.AlterField(
            model_name='inboxmessage',
            name='workflow',
            field=models.ForeignKey(blank=True, help_text='For the task that it starts.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='tasks_app.workflow'),
        ),
        migrations.AlterField(
            model_name='limits',
            name='approval_hours',
            field=models.PositiveIntegerField(default=24, help_text='A call that nobody approves in this time is rejected.', validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AlterField(
            model_name='limits',
            name='compact_at_percent',
            field=models.PositiveSmallIntegerField(default=80, help_text='How full the window may get before old turns are replaced by an outline.'),
        ),
        migrations.AlterField(
            model_name='limits',
            name='result_tokens',
            field=models.PositiveIntegerField(default=2500, help_text="How much of a tool's result the model sees; a longer one is written to a file in full."),
        ),
        migrations.AlterField(
            model_name='limits',
            name='stale_plan_after',
            field=models.PositiveIntegerField(default=10, help_text='Replies that may leave an open plan unchanged before the agent is reminded of it.'),
        ),
        migrations.AlterField(
            model_name='limits',
            name='tail_percent',
            field=models.PositiveSmallIntegerField(default=15, help_text='How much of the window the newest turns may then still take up.'),
        ),
        migrations.AlterField(
            model_name='limits',
            name='tool_call_limit',
            field=models.PositiveIntegerField(blank=True, help_text='Tool calls of a task; after them, it must answer with what it has. Empty: no limit.', null=True),
        ),
        migrations.AlterField(
            model_name='limits',
            name='tool_loop_refusals',
            field=models.PositiveIntegerField(default=3, help_text='At this many refusals the task fails.'),
        ),
        migrations.AlterField(
            model_name='limits',
            name='tool_loop_threshold',
            field=models.PositiveIntegerField(default=5, help_text='How many identical calls may run.'),
        ),
        migrations.AlterField(
            model_name='limits',
            name='tool_loop_window',
            field=models.PositiveIntegerField(default=20, help_text='How many of the latest calls are compared.'),
        ),
        migrations.AlterField(
            model_name='limits',
            name='workspace_bytes',
            field=models.PositiveBigIntegerField(default=2000000000, help_text='The most that the files of a session may take up together.'),
        ),
        migrations.AlterField(
            model_name='memorynote',
            name='auto',
            field=models.BooleanField(default=False, editable=False, help_text='Written automatically before old turns were cut.'),
        ),
        migrations.AlterField(
            model_name='memorynote',
            name='owner',
            field=models.ForeignKey(blank=True, help_text='Empty: for the whole team.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='memory_notes', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='promptsection',
            name='text',
            field=models.TextField(blank=True, help_text='Replaces the built-in text. Empty: the built-in text is used.', max_length=20000),
        ),
        migrations.AlterField(
            model_name='session',
            name='denied_tools',
            field=models.JSONField(blank=True, default=list, help_text='Names of tools that may not be used in it.'),
        ),
        migrations.AlterField(
            model_name='session',
            name='model',
            field=models.ForeignKey(blank=True, help_text='Empty: the default model.', null=True, on_delete=django.db.models.deletion.SET_NULL, to='llm_app.logicalmodel'),
        ),
        migrations.AlterField(
            model_name='session',
            name='off_record',
            field=models.BooleanField(default=False, help_text='Read-only tools; no memory is read or written. Chosen when the session is created.'),
        ),
        migrations.AlterField(
            model_name='session',
            name='parent',
            field=models.ForeignKey(blank=True, editable=False, help_text='The session that it was forked from.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='forks', to='tasks_app.session'),
        ),
        migrations.AlterField(
            model_name='session',
            name='parent_seq',
            field=models.PositiveIntegerField(blank=True, editable=False, help_text='The last entry that was copied from it.', null=True),
        ),
        migrations.AlterField(
            model_name='session',
            name='workdir',
            field=models.CharField(blank=True, editable=False, help_text='The folder that `run_agent` was told to work in.', max_length=1000),
        ),
        migrations.AlterField(
            model_name='task',
            name='calls_made',
            field=models.PositiveIntegerField(default=0, help_text='Tool calls, not counting those of `message`.'),
        ),
        migrations.AlterField(
            model_name='task',
            name='crashes',
            field=models.PositiveSmallIntegerField(default=0, help_text='Claims in a row whose worker died.'),
        ),
        migrations.AlterField(
            model_name='task',
            name='max_iterations',
            field=models.PositiveIntegerField(blank=True, help_text='Overrides the general limit.', null=True),
        ),
        migrations.AlterField(
            model_name='task',
            name='misfits',
            field=models.PositiveSmallIntegerField(default=0, help_text='Results whose data did not match the schema.'),
        ),
        migrations.AlterField(
            model_name='task',
            name='other_authors',
            field=models.JSONField(blank=True, default=list, help_text='Ids of the other people whose messages it contains.'),
        ),
        migrations.AlterField(
            model_name='task',
            name='output_schema',
            field=models.TextField(blank=True, help_text="JSON Schema that the result's data must match."),
        ),
        migrations.AlterField(
            model_name='task',
            name='reminded',
            field=models.JSONField(blank=True, default=dict, help_text='For each kind of reminder, the iteration of the last one.'),
        ),
        migrations.AlterField(
            model_name='task',
            name='shown_tools',
            field=models.JSONField(blank=True, default=list, help_text='Names of the tools in its last request.'),
        ),
        migrations.AlterField(
            model_name='task',
            name='terminal',
            field=models.CharField(blank=True, help_text='The only `run_agent` process that may advance it.', max_length=100),
        ),
        migrations.AlterField(
            model_name='task',
            name='workflow',
            field=models.JSONField(blank=True, default=dict, help_text='Its name and steps, as they were when the task started.'),
        ),
        migrations.AlterField(
            model_name='toolcalllog',
            name='looped',
            field=models.BooleanField(default=False, help_text='Refused because it was repeated too often.'),
        ),
    ]
