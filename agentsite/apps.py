from django.apps import AppConfig


class AgentsiteConfig(AppConfig):
    name = "agentsite"
    verbose_name = "Operation"

    def ready(self) -> None:
        from agentsite.checks import registry  # noqa: F401  registers them
