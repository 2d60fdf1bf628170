from django.apps import AppConfig


class LlmAppConfig(AppConfig):
    name = "llm_app"
    verbose_name = "Models"

    def ready(self) -> None:
        from llm_app.redaction import uncaught

        uncaught.to_the_log()
