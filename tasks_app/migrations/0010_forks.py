import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tasks_app', '0009_workflows_and_prompt_sections'),
    ]

    operations = [
        migrations.AddField(
            model_name='session',
            name='parent',
            field=models.ForeignKey(blank=True, editable=False, help_text='Forked from.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='forks', to='tasks_app.session'),
        ),
        migrations.AddField(
            model_name='session',
            name='parent_seq',
            field=models.PositiveIntegerField(blank=True, editable=False, help_text='Its last copied entry.', null=True),
        ),
    ]
