"""Django's `makemigrations`, whose migrations have no help texts."""

from django.core.management.commands import makemigrations

from agentsite.management.autodetector import SchemaAutodetector


class Command(makemigrations.Command):
    autodetector = SchemaAutodetector
