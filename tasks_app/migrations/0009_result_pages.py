"""A result's size goes by the model's window unless it was changed; the limit for calls of one tool in a row."""

from typing import Any

from django.db import migrations, models

OLD_DEFAULT = 2_500


def by_window(apps: Any, schema_editor: Any) -> None:
    apps.get_model("tasks_app", "Limits").objects.filter(result_tokens=OLD_DEFAULT).update(result_tokens=None)


def fixed(apps: Any, schema_editor: Any) -> None:
    apps.get_model("tasks_app", "Limits").objects.filter(result_tokens=None).update(result_tokens=OLD_DEFAULT)


class Migration(migrations.Migration):
    dependencies = [
        ("tasks_app", "0008_agent_environments"),
    ]

    operations = [
        migrations.AddField(
            model_name="limits",
            name="same_tool_after",
            field=models.PositiveIntegerField(
                default=20,
                help_text="Calls of one tool in a row, with other arguments each, before the agent is told.",
            ),
        ),
        migrations.AlterField(
            model_name="limits",
            name="result_tokens",
            field=models.PositiveIntegerField(
                null=True,
                blank=True,
                help_text="How much of a tool's result the model sees at once. Empty: by its window, a quarter of what "
                "the newest turns may take up; 1,000 at 8,000, 4,800 at 128,000, 8,000 from 200,000 on.",
            ),
        ),
        migrations.RunPython(by_window, fixed),
    ]
