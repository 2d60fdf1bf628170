"""Two indexes that others begin with: each row that an iteration writes is in one index less."""

import django.db.models.deletion
from django.db import migrations, models

_GONE = {
    "task_context_session_id_1a1fdb26": ("task_context", "session_id"),
    "tool_call_logs_task_id_f22272b4": ("tool_call_logs", "task_id"),
}


class Migration(migrations.Migration):
    dependencies = [("tasks_app", "0016_reading_indexes")]

    operations = [
        migrations.SeparateDatabaseAndState(
            # Not by altering the fields: SQLite would write both tables anew.
            database_operations=[
                migrations.RunSQL(f"DROP INDEX IF EXISTS {name}", f"CREATE INDEX {name} ON {table} ({column})")
                for name, (table, column) in _GONE.items()
            ],
            state_operations=[
                migrations.AlterField(
                    model_name="contextentry",
                    name="session",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="entries",
                        to="tasks_app.session",
                    ),
                ),
                migrations.AlterField(
                    model_name="toolcalllog",
                    name="task",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tool_calls",
                        to="tasks_app.task",
                    ),
                ),
            ],
        )
    ]
