import django.db.models.deletion
from django.db import migrations, models

REGULAR = 0o100644


def move_versions(apps, schema_editor):
    """Each kept version is a change of one file; the contents stay where they are, under the same names."""
    Version, Change, File = (
        apps.get_model("tasks_app", name) for name in ("FileVersion", "WorkspaceChange", "FileChange")
    )
    for version in Version.objects.order_by("pk").iterator():
        change = Change.objects.create(session_id=version.session_id, task_id=version.task_id, tool="file", seq=0)
        Change.objects.filter(pk=change.pk).update(created_at=version.created_at)
        before = {"before_mode": REGULAR, "before_size": version.size, "before_sha256": version.sha256}
        File.objects.create(change=change, path=version.path, after_mode=REGULAR, **before)


class Migration(migrations.Migration):

    dependencies = [
        ('tasks_app', '0011_restrictions_of_agents'),
    ]

    operations = [
        migrations.CreateModel(
            name='WorkspaceChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('call_id', models.CharField(blank=True, max_length=100)),
                ('tool', models.CharField(blank=True, max_length=100)),
                ('seq', models.PositiveIntegerField(help_text="The session's newest entry when the files were changed.")),
                ('told', models.BooleanField(default=True, help_text='Whether the agent knows of it.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='changes', to='tasks_app.session')),
                ('task', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='tasks_app.task')),
            ],
            options={
                'db_table': 'workspace_changes',
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='FileChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('path', models.CharField(max_length=4096)),
                ('before_mode', models.PositiveIntegerField(null=True)),
                ('before_size', models.PositiveBigIntegerField(default=0, help_text='Bytes.')),
                ('before_sha256', models.CharField(blank=True, max_length=64)),
                ('after_mode', models.PositiveIntegerField(null=True)),
                ('after_size', models.PositiveBigIntegerField(default=0, help_text='Bytes.')),
                ('after_sha256', models.CharField(blank=True, max_length=64)),
                ('change', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='files', to='tasks_app.workspacechange')),
            ],
            options={
                'db_table': 'file_changes',
                'ordering': ['-change_id', 'path'],
            },
        ),
        migrations.AddIndex(
            model_name='workspacechange',
            index=models.Index(fields=['session', '-id'], name='changes_of_a_session'),
        ),
        migrations.AddIndex(
            model_name='workspacechange',
            index=models.Index(fields=['session', 'call_id'], name='changes_of_a_call'),
        ),
        migrations.RunPython(move_versions, migrations.RunPython.noop),
        migrations.DeleteModel(
            name='FileVersion',
        ),
    ]
