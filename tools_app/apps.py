from django.apps import AppConfig
from django.conf import settings


class ToolsAppConfig(AppConfig):
    name = "tools_app"
    verbose_name = "Tools"

    def ready(self) -> None:
        import tools_app.tools  # noqa: F401  each tool registers itself
        from tools_app.contract import registry

        registry.load_plugins()
        if not settings.EMBEDDED:
            from tools_app.sandbox import ports

            ports.share_in(settings.VAR_DIR / "ports")
