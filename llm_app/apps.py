from django.apps import AppConfig
from django.db.models.signals import post_save

from llm_app.redaction import logs


class LlmAppConfig(AppConfig):
    name = "llm_app"
    verbose_name = "Models"

    def ready(self) -> None:
        from llm_app import encryption
        from llm_app.budgets import counters
        from llm_app.models import Budget

        encryption.cipher()  # fail before anything is encrypted with an invalid key
        logs.log_uncaught_errors()
        post_save.connect(counters.recount, sender=Budget)
