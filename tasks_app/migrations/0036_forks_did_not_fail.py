"""A task of which a fork has only the beginning did not fail: it is done, and stopped."""

from django.db import migrations, models

SAID = "Forked here. Write a message to go on."


def end_without_failure(apps, schema_editor):
    cut_off = apps.get_model("tasks_app", "Task").objects.filter(state="failed", stopped=True, failure_detail=SAID)
    cut_off.update(state="done", failure_code="", failure_detail="", final_result={})


def end_with_failure(apps, schema_editor):
    cut_off = apps.get_model("tasks_app", "Task").objects.filter(state="done", stopped=True)
    cut_off.update(state="failed", failure_code="stopped", failure_detail=SAID, final_result=None)


class Migration(migrations.Migration):

    dependencies = [
        ("tasks_app", "0035_task_silence"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="task", name="task_stopped_is_failed"),
        migrations.AlterField(
            model_name="task",
            name="stopped",
            field=models.BooleanField(
                default=False, help_text="By a person; or, where it is done, by a fork that has only its beginning."
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(stopped=False) | models.Q(failure_code="stopped") | models.Q(state="done"),
                name="task_stopped_by_person_or_fork",
            ),
        ),
        migrations.RunPython(end_without_failure, end_with_failure),
    ]
