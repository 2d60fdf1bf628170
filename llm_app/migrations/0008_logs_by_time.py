"""The newest call last: at the beginning of an index, SQLite would move what is there with each."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('llm_app', '0007_agent_versions'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='llmlog',
            name='llm_logs_session_ae3178_idx',
        ),
        migrations.RemoveIndex(
            model_name='llmlog',
            name='llm_logs_provide_d41a1b_idx',
        ),
        migrations.AddIndex(
            model_name='llmlog',
            index=models.Index(fields=['session_id', 'created_at'], name='llm_logs_session_c4ad9f_idx'),
        ),
        migrations.AddIndex(
            model_name='llmlog',
            index=models.Index(fields=['provider', 'created_at'], name='llm_logs_provide_3f7e69_idx'),
        ),
    ]
