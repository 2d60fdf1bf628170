"""The terms of notes and passages whose words are now found in more spellings: İ as i, and without what is not seen."""

from typing import Any

from django.db import migrations

from tasks_app.text.retrieval import UNSEEN, terms_of


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
    dependencies = [("tasks_app", "0037_job_numbers")]

    operations = [migrations.RunPython(renew_terms, migrations.RunPython.noop)]
