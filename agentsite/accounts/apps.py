from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "agentsite.accounts"
    label = "accounts"
    verbose_name = "People"

    def ready(self) -> None:
        from agentsite.accounts.roles import protect
        from agentsite.accounts.two_factor import listen

        listen()
        protect()
