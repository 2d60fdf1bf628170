"""The last changes before version 1.0."""

from typing import Any

from django.db import migrations, models

from tasks_app.text.retrieval import UNSEEN, terms_of

FORKED = "Forked here. Write a message to go on."


def end_without_failure(apps: Any, schema_editor: Any) -> None:
    cut_off = apps.get_model("tasks_app", "Task").objects.filter(state="failed", stopped=True, failure_detail=FORKED)
    cut_off.update(state="done", failure_code="", failure_detail="", final_result={})


def end_with_failure(apps: Any, schema_editor: Any) -> None:
    cut_off = apps.get_model("tasks_app", "Task").objects.filter(state="done", stopped=True)
    cut_off.update(state="failed", failure_code="stopped", failure_detail=FORKED, final_result=None)


def renew_terms(apps: Any, schema_editor: Any) -> None:
    using = schema_editor.connection.alias
    notes = apps.get_model("tasks_app", "MemoryNote").objects.using(using)
    for note in notes.filter(text__regex=f"[İı{UNSEEN}]").only("text").iterator():
        notes.filter(pk=note.pk).update(terms=_joined(note.text))
    passages = apps.get_model("tasks_app", "LibraryPassage").objects.using(using)
    for passage in passages.filter(text__regex=f"[İı{UNSEEN}]").select_related("file").iterator():
        passages.filter(pk=passage.pk).update(terms=_joined(f"{passage.file.name} {passage.text}"))


def _joined(text: str) -> str:
    return " ".join(dict.fromkeys(terms_of(text)))


class Migration(migrations.Migration):
    replaces = [
        ("tasks_app", name)
        for name in (
            "0035_task_silence",
            "0036_forks_did_not_fail",
            "0037_job_numbers",
            "0038_terms_without_unseen_characters",
        )
    ]

    dependencies = [
        ("tasks_app", "0002_before_1_0"),
    ]

    operations = [
        migrations.AddField(
            model_name="task",
            name="silence",
            field=models.JSONField(blank=True, editable=False, null=True),
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_stopped_is_failed",
        ),
        migrations.AlterField(
            model_name="task",
            name="stopped",
            field=models.BooleanField(default=False),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(("stopped", False), ("failure_code", "stopped"), ("state", "done"), _connector="OR"),
                name="task_stopped_by_person_or_fork",
            ),
        ),
        migrations.AddField(
            model_name="session",
            name="last_job",
            field=models.PositiveIntegerField(default=0, editable=False),
        ),
        migrations.RunPython(
            code=end_without_failure,
            reverse_code=end_with_failure,
        ),
        migrations.RunPython(
            code=renew_terms,
            reverse_code=migrations.RunPython.noop,
        ),
    ]
