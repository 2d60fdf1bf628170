"""Lists by time: SQLite took an index of tasks that another one begins with, and sorted them all; so for sessions."""

import django.db.models.deletion
from django.db import migrations, models

_GONE = "tasks_session_id_ba688419"


class Migration(migrations.Migration):
    dependencies = [("tasks_app", "0029_agents_of_roles")]

    operations = [
        migrations.SeparateDatabaseAndState(
            # Not by altering the field: SQLite would write the table anew.
            database_operations=[
                migrations.RunSQL(f"DROP INDEX IF EXISTS {_GONE}", f"CREATE INDEX {_GONE} ON tasks (session_id)")
            ],
            state_operations=[
                migrations.AlterField(
                    model_name="task",
                    name="session",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tasks",
                        to="tasks_app.session",
                    ),
                )
            ],
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(fields=["-created_at", "owner", "root", "project", "id"], name="newest_sessions"),
        ),
    ]
