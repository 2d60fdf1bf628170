"""Encrypts anew what is encrypted, after a key was put in front of FIELD_ENCRYPTION_KEY."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from llm_app.rotation import rotate


class Command(BaseCommand):
    help = "Encrypts stored secrets and keys anew, with the first key of FIELD_ENCRYPTION_KEY."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            for column, count in rotate():
                self.stdout.write(f"{column}: {count} encrypted anew")
        except ImproperlyConfigured as error:
            raise CommandError(f"{error} Nothing is lost: add the missing key and run this again.") from error
