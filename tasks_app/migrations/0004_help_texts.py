from django.db import migrations, models


class Migration(migrations.Migration):
    """Texts only: nothing in the database changes."""

    dependencies = [
        ('tasks_app', '0003_task_terminal'),
    ]

    operations = [
        migrations.AlterField(
            model_name='contextentry',
            name='masked_with',
            field=models.CharField(blank=True, help_text='The version of the secrets that were redacted; later ones are on reading.', max_length=16),
        ),
    ]
