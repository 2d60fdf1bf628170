import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tasks_app", "0006_file_versions"),
    ]

    operations = [
        migrations.CreateModel(
            name="ContextCut",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("window", models.PositiveIntegerField(help_text="Of the model that it was made for, in tokens.")),
                ("seq", models.PositiveIntegerField()),
                ("blob", models.CharField(max_length=64)),
                ("masked_with", models.CharField(blank=True, max_length=16)),
                ("summary_seq", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "cause",
                    models.CharField(
                        choices=[
                            ("filled", "The window was nearly full"),
                            ("refused", "The provider refused the request as too long"),
                        ],
                        max_length=7,
                    ),
                ),
                ("tokens_before", models.PositiveIntegerField(help_text="Of the whole request.")),
                ("tokens_after", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="cuts", to="tasks_app.session"
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="cuts", to="tasks_app.task"
                    ),
                ),
            ],
            options={
                "verbose_name": "cut",
                "db_table": "context_cuts",
                "ordering": ["-pk"],
                "indexes": [models.Index(fields=["session", "window", "-id"], name="newest_cut_of_a_window")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(cause__in=["filled", "refused"]), name="context_cut_cause_known"
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="agent",
            name="prune_outputs",
            field=models.BooleanField(
                default=False,
                help_text="When a session grows too long: first leave out old tool outputs, except the newest "
                "40,000 tokens.",
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="shorten_results",
            field=models.BooleanField(
                default=False,
                help_text="Then: say of results older than four turns only how long they were, and of what kind.",
            ),
        ),
        migrations.AddField(
            model_name="agent",
            name="summarise",
            field=models.BooleanField(
                default=False,
                help_text="Then: have the model sum up what is cut, as a visible entry. Costs one call each time.",
            ),
        ),
        migrations.AddField(
            model_name="limits",
            name="result_tokens",
            field=models.PositiveIntegerField(
                default=2500, help_text="Of a tool's result; the whole of a longer one goes into a file."
            ),
        ),
        migrations.AddField(
            model_name="limits",
            name="compact_at_percent",
            field=models.PositiveSmallIntegerField(
                default=80, help_text="How full the window may be before old turns become lines."
            ),
        ),
        migrations.AddField(
            model_name="limits",
            name="tail_percent",
            field=models.PositiveSmallIntegerField(
                default=15, help_text="How much of the window the newest turns may keep then."
            ),
        ),
        migrations.AddConstraint(
            model_name="limits",
            constraint=models.CheckConstraint(
                condition=models.Q(compact_at_percent__range=(10, 90)), name="limits_compact_at_in_range"
            ),
        ),
        migrations.AddConstraint(
            model_name="limits",
            constraint=models.CheckConstraint(
                condition=models.Q(tail_percent__range=(1, 40)), name="limits_tail_in_range"
            ),
        ),
    ]
