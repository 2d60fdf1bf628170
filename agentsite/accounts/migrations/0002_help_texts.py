from django.db import migrations, models


class Migration(migrations.Migration):
    """Texts only: nothing in the database changes."""

    dependencies = [
        ('accounts', '0001_initial'),
    ]

    operations = [
        migrations.AlterField(
            model_name='apitoken',
            name='may_approve',
            field=models.BooleanField(default=True, help_text='Whether it may approve or reject calls.'),
        ),
        migrations.AlterField(
            model_name='user',
            name='preferences',
            field=models.TextField(blank=True, help_text='What the agent should know about this person: language, tone, format and other preferences.'),
        ),
    ]
