from django.apps import AppConfig

from llm_app.redaction import logs


class LlmAppConfig(AppConfig):
    name = "llm_app"
    verbose_name = "Models"

    def ready(self) -> None:
        logs.log_uncaught_errors()
