from django.apps import AppConfig
from django.db.models.signals import post_migrate


class TasksAppConfig(AppConfig):
    name = "tasks_app"
    verbose_name = "Work"

    def ready(self) -> None:
        from tasks_app.full_text import install

        post_migrate.connect(install, sender=self)
