"""The switches of an agent's hooks, which are a list of names now, go."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("tasks_app", "0005_agent_hooks"),
    ]

    operations = [
        migrations.RemoveField(model_name="agent", name="safe_mode"),
        migrations.RemoveField(model_name="agent", name="autopilot"),
        migrations.RemoveField(model_name="agent", name="self_verification"),
        migrations.RemoveField(model_name="agent", name="termination_review"),
    ]
