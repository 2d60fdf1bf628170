from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tasks_app", "0007_context_cuts")]

    operations = [
        migrations.AddField(
            model_name="limits",
            name="tool_call_limit",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Tool calls of a task; then it answers from what it knows. Empty: no limit.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="limits",
            name="stale_plan_after",
            field=models.PositiveIntegerField(
                default=10, help_text="Replies without a change of an open plan before the agent is reminded of it."
            ),
        ),
        migrations.AddField(
            model_name="limits",
            name="budget_reminder_percent",
            field=models.PositiveSmallIntegerField(
                default=80, help_text="How much of a budget may be spent before the agent is told."
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="calls_made",
            field=models.PositiveIntegerField(default=0, help_text="Tool calls, those of message not counted."),
        ),
        migrations.AddField(
            model_name="task",
            name="shown_tools",
            field=models.JSONField(blank=True, default=list, help_text="The tools of its last request, by name."),
        ),
        migrations.AddField(
            model_name="task",
            name="reminded",
            field=models.JSONField(blank=True, default=dict, help_text="The iteration of each kind's last reminder."),
        ),
    ]
