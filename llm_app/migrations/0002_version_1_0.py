"""The models' changes between the first database and version 1.0."""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models

from llm_app.sql.migration_operations import AddMissingField


class Migration(migrations.Migration):
    replaces = [
        ("llm_app", name)
        for name in (
            "0003_protocols_of_plugins",
            "0004_verdicts_and_lists",
            "0005_learned_quirks",
            "0006_help_texts",
            "0007_agent_versions",
            "0008_logs_by_time",
            "0009_left_blobs",
            "0010_some_tokens",
        )
    ]

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("llm_app", "0001_initial"),
    ]

    operations = [
        AddMissingField(
            model_name="secret",
            name="roles",
            field=models.ManyToManyField(blank=True, related_name="+", to="auth.group"),
        ),
        migrations.RemoveConstraint(
            model_name="provider",
            name="provider_protocol_known",
        ),
        migrations.AlterField(
            model_name="provider",
            name="protocol",
            field=models.CharField(max_length=20),
        ),
        migrations.AddField(
            model_name="provider",
            name="listed_models",
            field=models.JSONField(blank=True, default=list, editable=False),
        ),
        migrations.AddField(
            model_name="route",
            name="tested_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="route",
            name="verdict",
            field=models.TextField(blank=True, editable=False),
        ),
        migrations.AddField(
            model_name="route",
            name="works",
            field=models.BooleanField(editable=False, null=True, verbose_name="works"),
        ),
        migrations.CreateModel(
            name="LearnedQuirk",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("provider_model", models.CharField(max_length=200)),
                ("quirk", models.CharField(max_length=50)),
                ("value", models.JSONField()),
                ("reason", models.TextField()),
                ("learned_at", models.DateTimeField(auto_now_add=True)),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="learned_quirks",
                        to="llm_app.provider",
                    ),
                ),
            ],
            options={
                "db_table": "learned_quirks",
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("provider", "provider_model", "quirk", "value"), name="a_quirk_is_learned_once"
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="llmlog",
            name="agent_version_id",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.RemoveIndex(
            model_name="llmlog",
            name="llm_logs_session_ae3178_idx",
        ),
        migrations.RemoveIndex(
            model_name="llmlog",
            name="llm_logs_provide_d41a1b_idx",
        ),
        migrations.AddIndex(
            model_name="llmlog",
            index=models.Index(fields=["session_id", "created_at"], name="llm_logs_session_c4ad9f_idx"),
        ),
        migrations.AddIndex(
            model_name="llmlog",
            index=models.Index(fields=["provider", "created_at"], name="llm_logs_provide_3f7e69_idx"),
        ),
        migrations.AddField(
            model_name="blob",
            name="left_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name="blob",
            index=models.Index(condition=models.Q(("left_at__isnull", False)), fields=["left_at"], name="left_blobs"),
        ),
        migrations.AlterField(
            model_name="logicalmodel",
            name="context_window",
            field=models.PositiveIntegerField(default=128000, validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AlterField(
            model_name="logicalmodel",
            name="max_output_tokens",
            field=models.PositiveIntegerField(default=8192, validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AlterField(
            model_name="route",
            name="context_window",
            field=models.PositiveIntegerField(
                blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)]
            ),
        ),
        migrations.AlterField(
            model_name="route",
            name="max_tokens",
            field=models.PositiveIntegerField(
                blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)]
            ),
        ),
    ]
