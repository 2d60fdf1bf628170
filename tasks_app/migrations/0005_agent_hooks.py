"""The hooks of an agent are a list of names: what its switches said is carried over."""

from typing import Any

from django.db import migrations, models

SWITCHES = ("safe_mode", "autopilot", "self_verification", "termination_review")


def carry_over(apps: Any, schema_editor: Any) -> None:
    for agent in apps.get_model("tasks_app", "Agent").objects.all():
        agent.hooks = [name for name in SWITCHES if getattr(agent, name)]
        if agent.withheld_patterns:
            agent.hooks.append("output_filter")
        agent.save(update_fields=["hooks"])


def carry_back(apps: Any, schema_editor: Any) -> None:
    for agent in apps.get_model("tasks_app", "Agent").objects.all():
        for name in SWITCHES:
            setattr(agent, name, name in agent.hooks)
        agent.save(update_fields=SWITCHES)


class Migration(migrations.Migration):
    dependencies = [
        ("tasks_app", "0004_help_texts"),
    ]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="hooks",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="Names of the hooks that look at its calls, beside the plugins for all.",
            ),
        ),
        migrations.AlterField(
            model_name="agent",
            name="withheld_patterns",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="Regular expressions of the output filter. While there are any, it is on, and messages are "
                "not streamed.",
            ),
        ),
        migrations.RunPython(carry_over, carry_back),
    ]
