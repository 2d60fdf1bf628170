#!/usr/bin/env python
"""Runs a management command."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        if sys.argv[1:] in (["version"], ["--version"]):  # Django would answer with its own
            from agentsite.environment import VERSION

            sys.stdout.write(f"{VERSION}\n")
        else:
            execute_from_command_line(sys.argv)
    except ImproperlyConfigured as mistake:
        sys.exit(f"{mistake}")


if __name__ == "__main__":
    main()
