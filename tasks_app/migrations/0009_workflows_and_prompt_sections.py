import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

SECTIONS = [
    ("identity", "Who the agent is"),
    ("guardrails", "What it never does, whoever asks"),
    ("language", "In which language it writes"),
    ("format", "How its messages look"),
    ("agent_loop", "How it works, turn by turn"),
    ("tool_protocol", "The rules for tool calls"),
    ("tool_use", "How it chooses and uses tools"),
    ("error_handling", "What it does when something fails"),
    ("environment", "What it knows of the workspace and its programs"),
    ("browser", "How it uses the browser, where there is one"),
    ("secrets", "How it handles secrets and personal data"),
    ("prompt_injection", "What it makes of instructions in texts that it reads"),
]
KEY = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    dependencies = [
        ("tasks_app", "0008_reminders"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Workflow",
            fields=[
                ("id", KEY),
                ("name", models.CharField(max_length=100, unique=True)),
                ("description", models.TextField(blank=True, help_text="For the people who choose it.")),
            ],
            options={"db_table": "workflows", "ordering": ["name"]},
        ),
        migrations.CreateModel(
            name="WorkflowStep",
            fields=[
                ("id", KEY),
                ("position", models.PositiveSmallIntegerField()),
                ("title", models.CharField(max_length=200)),
                ("instructions", models.TextField(help_text="What the agent reads when the step begins.")),
                (
                    "workflow",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="steps", to="tasks_app.workflow"
                    ),
                ),
            ],
            options={"db_table": "workflow_steps", "ordering": ["workflow", "position", "pk"]},
        ),
        migrations.AddField(
            model_name="inboxmessage",
            name="workflow",
            field=models.ForeignKey(
                blank=True,
                help_text="Of the task that it starts.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="tasks_app.workflow",
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="workflow",
            field=models.JSONField(
                blank=True, default=dict, help_text="Its name and steps, as they were at the start."
            ),
        ),
        migrations.CreateModel(
            name="PromptSection",
            fields=[
                ("id", KEY),
                ("section", models.CharField(choices=SECTIONS, max_length=20)),
                (
                    "text",
                    models.TextField(
                        blank=True,
                        help_text="In place of the text that ships. Empty: the text that ships.",
                        max_length=20000,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="sections", to="tasks_app.agent"
                    ),
                ),
                (
                    "author",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"db_table": "prompt_sections", "ordering": ["-pk"]},
        ),
        migrations.AddIndex(
            model_name="promptsection",
            index=models.Index(fields=["agent", "section"], name="versions_of_a_section"),
        ),
    ]
