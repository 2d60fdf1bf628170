from django.db import migrations, models


class Migration(migrations.Migration):
    """Texts only: nothing in the database changes."""

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('llm_app', '0005_learned_quirks'),
    ]

    operations = [
        migrations.AlterField(
            model_name='circuitbreaker',
            name='changed_at',
            field=models.DateTimeField(blank=True, help_text='Earlier calls no longer count.', null=True),
        ),
        migrations.AlterField(
            model_name='circuitbreaker',
            name='probe_at',
            field=models.DateTimeField(blank=True, help_text='Open: when one call may probe the provider. Half-open: when that call is presumed lost.', null=True),
        ),
        migrations.AlterField(
            model_name='llmlog',
            name='error_type',
            field=models.CharField(blank=True, help_text='The kind of failure: a class in llm_app.errors.', max_length=30),
        ),
        migrations.AlterField(
            model_name='llmlog',
            name='usage_estimated',
            field=models.BooleanField(default=False, help_text='The provider reported no usage, so it is estimated.'),
        ),
        migrations.AlterField(
            model_name='llmlog',
            name='user_id',
            field=models.BigIntegerField(blank=True, help_text='The user whose budgets it was counted against.', null=True),
        ),
        migrations.AlterField(
            model_name='logicalmodel',
            name='context_window',
            field=models.PositiveIntegerField(default=128000, help_text='In tokens.'),
        ),
        migrations.AlterField(
            model_name='logicalmodel',
            name='is_default',
            field=models.BooleanField(default=False, help_text='Used where no model was chosen.'),
        ),
        migrations.AlterField(
            model_name='logicalmodel',
            name='kind',
            field=models.CharField(choices=[('text', 'Text'), ('image', 'Images'), ('audio', 'Speech'), ('embedding', 'Embeddings')], default='text', help_text='What it returns.', max_length=10),
        ),
        migrations.AlterField(
            model_name='logicalmodel',
            name='roles',
            field=models.ManyToManyField(blank=True, help_text='Whose members may use it. None: everyone.', related_name='+', to='auth.group'),
        ),
        migrations.AlterField(
            model_name='provider',
            name='listed_models',
            field=models.JSONField(blank=True, default=list, editable=False, help_text="The provider's list of models, as last fetched."),
        ),
        migrations.AlterField(
            model_name='provider',
            name='timeout_s',
            field=models.FloatField(default=120, help_text='How long the provider may send nothing, in seconds.'),
        ),
        migrations.AlterField(
            model_name='provider',
            name='total_timeout_s',
            field=models.FloatField(default=600, help_text='How long one attempt may take in all, in seconds.'),
        ),
        migrations.AlterField(
            model_name='reservation',
            name='allowance',
            field=models.UUIDField(db_index=True, help_text='What reserved it: one id for each lease of a task.'),
        ),
        migrations.AlterField(
            model_name='route',
            name='context_window',
            field=models.PositiveIntegerField(blank=True, help_text="Only if smaller than the model's.", null=True),
        ),
        migrations.AlterField(
            model_name='route',
            name='extra_headers',
            field=models.JSONField(blank=True, default=dict, help_text="Stored and shown unencrypted: API keys belong in the provider's own field."),
        ),
        migrations.AlterField(
            model_name='route',
            name='price',
            field=models.JSONField(blank=True, default=dict, help_text='USD per million tokens: input, cached_input, output'),
        ),
        migrations.AlterField(
            model_name='route',
            name='takes_images',
            field=models.BooleanField(default=False, help_text='Whether the model accepts images.'),
        ),
        migrations.AlterField(
            model_name='route',
            name='thinking_budget',
            field=models.PositiveIntegerField(blank=True, help_text='In tokens, where the provider supports it.', null=True),
        ),
        migrations.AlterField(
            model_name='route',
            name='works',
            field=models.BooleanField(editable=False, help_text='The outcome of its last test. Empty: not tested.', null=True, verbose_name='works'),
        ),
        migrations.AlterField(
            model_name='secret',
            name='roles',
            field=models.ManyToManyField(blank=True, help_text="Whose members' tasks may use a secret of the team. None: only administrators' tasks.", related_name='+', to='auth.group'),
        ),
        migrations.AlterField(
            model_name='servicekey',
            name='name',
            field=models.CharField(help_text='For example search.tavily.', max_length=150, unique=True),
        ),
    ]
