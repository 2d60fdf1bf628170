from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "agentsite.accounts"
    label = "accounts"
    verbose_name = "People"
