from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "agentsite.accounts"
    label = "accounts"
    verbose_name = "People"

    def ready(self) -> None:
        from agentsite.accounts.roles import protect_from_deletion
        from agentsite.accounts.two_factor import connect_log

        connect_log()
        protect_from_deletion()
