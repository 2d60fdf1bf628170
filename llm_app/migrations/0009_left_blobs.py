"""Blobs of deleted sessions are marked, so that they can go a day later."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('llm_app', '0008_logs_by_time'),
    ]

    operations = [
        migrations.AddField(
            model_name='blob',
            name='left_at',
            field=models.DateTimeField(blank=True, help_text='When a session that named it was deleted. A day later it goes, too.', null=True),
        ),
        migrations.AddIndex(
            model_name='blob',
            index=models.Index(condition=models.Q(('left_at__isnull', False)), fields=['left_at'], name='left_blobs'),
        ),
    ]
