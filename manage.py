#!/usr/bin/env python
"""Runs a management command."""

import gc
import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")
    gc.disable()  # what is imported is not garbage: to look through it again and again is a quarter of the start
    import django
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        if sys.argv[1:] in (["version"], ["--version"]):  # Django would answer with its own
            from agentsite.environment import VERSION

            sys.stdout.write(f"{VERSION}\n")
        else:
            django.setup()
            gc.freeze()
            gc.enable()
            execute_from_command_line(sys.argv)
    except ImproperlyConfigured as mistake:
        sys.exit(f"{mistake}")


if __name__ == "__main__":
    main()
