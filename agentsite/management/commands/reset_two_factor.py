"""Switches a user's second factor off, for somebody who has lost the phone and the recovery codes."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentsite.accounts import two_factor
from agentsite.accounts.models import User


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER")

    def handle(self, *args: Any, user: str, **options: Any) -> None:
        owner = User.objects.filter(username=user).first()
        if owner is None:
            raise CommandError(f"There is no user called {user!r}.")
        was_on = two_factor.reset(owner, by="manage.py reset_two_factor")
        self.stdout.write(f"{user} signs in with the password alone{'' if was_on else ', as before'}.")
