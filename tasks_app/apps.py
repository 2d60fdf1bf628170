from django.apps import AppConfig
from django.contrib.auth import get_user_model
from django.db.models.signals import post_migrate, post_save


class TasksAppConfig(AppConfig):
    name = "tasks_app"
    verbose_name = "Work"

    def ready(self) -> None:
        from tasks_app.runtime import settings_version
        from tasks_app.services import accounts
        from tasks_app.text import full_text

        post_save.connect(accounts.stop_tasks, sender=get_user_model())
        post_migrate.connect(full_text.install, sender=self)
        post_migrate.connect(settings_version.install, sender=self)
