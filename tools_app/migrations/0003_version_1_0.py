"""The models' changes between the first database and version 1.0."""

from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("tools_app", name)
        for name in (
            "0003_help_texts",
            "0004_roles_of_tools",
            "0005_longer_skill_names",
        )
    ]

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("tools_app", "0002_skill_files_executable"),
    ]

    operations = [
        migrations.AlterField(
            model_name="skill",
            name="description",
            field=models.CharField(max_length=2048),
        ),
        migrations.AlterField(
            model_name="mcpserver",
            name="transport",
            field=models.CharField(
                choices=[("stdio", "A program on this server (stdio)"), ("streamable_http", "A URL (streamable HTTP)")],
                max_length=15,
            ),
        ),
        migrations.AddField(
            model_name="mcpserver",
            name="loop_exempt",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name="rolepolicy",
            name="is_default",
            field=models.BooleanField(default=False, verbose_name="default role"),
        ),
        migrations.AddField(
            model_name="toolsetting",
            name="roles",
            field=models.ManyToManyField(blank=True, related_name="+", to="auth.group"),
        ),
        migrations.AddField(
            model_name="userpolicy",
            name="switched_off",
            field=models.JSONField(blank=True, default=list, editable=False),
        ),
        migrations.AddConstraint(
            model_name="rolepolicy",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_default", True)),
                fields=("is_default",),
                name="one_default_role",
                violation_error_message="Another role is the default role.",
            ),
        ),
        migrations.AlterField(
            model_name="skill",
            name="name",
            field=models.CharField(max_length=64, unique=True),
        ),
    ]
