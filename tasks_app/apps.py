from django.apps import AppConfig
from django.db.models.signals import post_migrate


class TasksAppConfig(AppConfig):
    name = "tasks_app"
    verbose_name = "Work"

    def ready(self) -> None:
        from tasks_app import settings_version
        from tasks_app.text import full_text

        post_migrate.connect(full_text.install, sender=self)
        post_migrate.connect(settings_version.install, sender=self)
