"""A result's log is found by session and call, which both have: there is no column."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tasks_app', '0033_index_ended'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddField(
                    model_name='contextentry',
                    name='log',
                    field=models.ForeignObject(from_fields=['session', 'tool_call_id'], null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='tasks_app.toolcalllog', to_fields=['session_id', 'call_id']),
                ),
            ],
        ),
    ]
