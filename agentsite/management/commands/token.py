"""Prints a new API token for a user. It is shown once: only its digest is stored."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentsite.accounts.models import ApiToken, User


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER")
        parser.add_argument("--name", default="", help="What the token is for.")

        parser.add_argument(
            "--no-approvals", action="store_true", help="It approves nothing: for an agent, or a program of an agent."
        )

    def handle(self, *args: Any, user: str, name: str, no_approvals: bool, **options: Any) -> None:
        owner = User.objects.filter(username=user).first()
        if owner is None:
            raise CommandError(f"There is no user called {user!r}.")
        if not owner.is_active:
            raise CommandError(f"The account of {user!r} is disabled, so its tokens do not work.")
        _, token = ApiToken.objects.create(user=owner, name=name, may_approve=not no_approvals)
        self.stdout.write(token)
