import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Texts only: nothing in the database changes."""

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('tools_app', '0002_skill_files_executable'),
    ]

    operations = [
        migrations.AlterField(
            model_name='mcpserver',
            name='credential',
            field=models.CharField(blank=True, help_text="The name of a secret, each user's own or the team's. It is sent as a bearer token or, for stdio, set as an environment variable of this name.", max_length=100),
        ),
        migrations.AlterField(
            model_name='mcpserver',
            name='description',
            field=models.CharField(blank=True, help_text='Tells the model what its tools are for.', max_length=300),
        ),
        migrations.AlterField(
            model_name='mcpserver',
            name='environment',
            field=models.JSONField(blank=True, default=dict, help_text='For stdio: {"NAME": "value"}. Not for secrets.'),
        ),
        migrations.AlterField(
            model_name='mcpserver',
            name='headers',
            field=models.JSONField(blank=True, default=dict, help_text='For a URL: {"Name": "value"}. Not for secrets.'),
        ),
        migrations.AlterField(
            model_name='mcpserver',
            name='roles',
            field=models.ManyToManyField(blank=True, help_text='Whose members may use its tools. None: everyone.', related_name='+', to='auth.group'),
        ),
        migrations.AlterField(
            model_name='mcpserver',
            name='transport',
            field=models.CharField(choices=[('stdio', 'A program on this server (stdio)'), ('streamable_http', 'A URL (streamable HTTP)')], max_length=15),
        ),
        migrations.AlterField(
            model_name='mcptool',
            name='is_gone',
            field=models.BooleanField(default=False, help_text='The server no longer lists it.'),
        ),
        migrations.AlterField(
            model_name='rolepolicy',
            name='allow',
            field=models.JSONField(blank=True, default=list, help_text='Names of tools. Empty: all tools.'),
        ),
        migrations.AlterField(
            model_name='searchengine',
            name='base_url',
            field=models.CharField(blank=True, help_text='Required for SearXNG; for the others, only if a proxy is in front of the service.', max_length=200, validators=[django.core.validators.RegexValidator('^https?://[^\\s/]', 'Write the whole address, with http:// or https://.')]),
        ),
        migrations.AlterField(
            model_name='searchengine',
            name='priority',
            field=models.PositiveSmallIntegerField(default=1, help_text='1 is tried first, the next ones when it fails.'),
        ),
        migrations.AlterField(
            model_name='skill',
            name='description',
            field=models.CharField(help_text='Part of the prompt: it tells the model when to use the skill.', max_length=2048),
        ),
        migrations.AlterField(
            model_name='skill',
            name='roles',
            field=models.ManyToManyField(blank=True, help_text='Whose members may use it. None: everyone.', related_name='+', to='auth.group'),
        ),
        migrations.AlterField(
            model_name='skillfile',
            name='executable',
            field=models.BooleanField(default=False, help_text='Whether it can be run as a program.'),
        ),
        migrations.AlterField(
            model_name='toolsetting',
            name='approvers',
            field=models.ForeignKey(blank=True, help_text='The role whose members may approve its calls. Empty: anyone who may write in the session.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='auth.group'),
        ),
        migrations.AlterField(
            model_name='toolsetting',
            name='danger',
            field=models.CharField(blank=True, choices=[('safe', 'Safe'), ('moderate', 'Moderate'), ('dangerous', 'Dangerous')], help_text="Overrides the tool's own level.", max_length=10),
        ),
        migrations.AlterField(
            model_name='toolsetting',
            name='four_eyes',
            field=models.BooleanField(default=False, help_text='The person who started the task may not approve, and each call needs an approval of its own.'),
        ),
    ]
