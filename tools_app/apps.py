from django.apps import AppConfig


class ToolsAppConfig(AppConfig):
    name = "tools_app"
    verbose_name = "Tools"

    def ready(self) -> None:
        import tools_app.tools  # noqa: F401  each tool registers itself
        from tools_app.contract import plugins

        plugins.load()
