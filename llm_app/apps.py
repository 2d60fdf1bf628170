from django.apps import AppConfig


class LlmAppConfig(AppConfig):
    name = "llm_app"
    verbose_name = "Models"
