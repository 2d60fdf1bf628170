from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tasks_app", "0010_forks")]

    operations = [
        migrations.AddField(
            model_name="inboxmessage",
            name="output_schema",
            field=models.TextField(blank=True, help_text="Of the task that the message starts."),
        ),
        migrations.AddField(
            model_name="task",
            name="misfits",
            field=models.PositiveSmallIntegerField(default=0, help_text="Results whose data did not fit the schema."),
        ),
        migrations.AddField(
            model_name="task",
            name="output_schema",
            field=models.TextField(blank=True, help_text="JSON Schema that the data of the result must fit."),
        ),
    ]
