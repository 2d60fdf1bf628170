"""A task changes its state with each commit: what is indexed of active tasks asks for their end, which moves once."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tasks_app', '0032_library_vectors'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='task',
            name='one_active_task_per_session',
        ),
        migrations.RemoveIndex(
            model_name='task',
            name='active_task_leases',
        ),
        migrations.AddIndex(
            model_name='task',
            index=models.Index(condition=models.Q(('ended_at', None)), fields=['lease_expires_at'], name='active_task_leases'),
        ),
        migrations.AddConstraint(
            model_name='task',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('session',), name='one_active_task_per_session'),
        ),
    ]
