"""Runs one task in the terminal. Exit status: 0 done, 1 failed, 2 wrong use."""

import json
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any, BinaryIO

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from llm_app.models import LogicalModel

USAGE = 2


def _at_least_one(text: str) -> int:
    if (number := int(text)) < 1:
        raise ArgumentTypeError(f"{number} is less than 1")
    return number


class Command(BaseCommand):
    help = __doc__
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("instruction", help="What the agent should do.")
        parser.add_argument("--user", help="The owner of the task; the administrator by default.")
        parser.add_argument("--model", help="A logical model; the default one by default.")
        parser.add_argument("--workdir", type=Path, help="A folder to work in, instead of a new workspace.")
        parser.add_argument("--jsonl", action="store_true", help="JSON lines instead of text.")
        parser.add_argument("--trace", type=Path, help="A file for the events of the run, as JSON lines.")
        parser.add_argument("--max-iterations", type=_at_least_one, help="Overrides the limit for all tasks.")
        parser.add_argument("--output-schema", type=Path, help="A JSON Schema that the result's data must match.")

    def handle(self, *args: Any, instruction: str, jsonl: bool, **options: Any) -> None:
        from agentsite.configuration import create_shipped_rules
        from agentsite.serving import first_start
        from agentsite.terminal import reports, run
        from tasks_app import services
        from tasks_app.models.errors import Refusal
        from tasks_app.runtime import process

        first_start.migrate()
        admin = first_start.ensure_admin()
        create_shipped_rules()
        first_start.ensure_model()
        first_start.connect_model()
        trace = self._opened(options["trace"])
        user = self._user(options["user"]) if options["user"] else admin.user
        session = services.create_session(
            user, model=self._model(options["model"], user), workdir=self._folder(options["workdir"])
        )
        chosen = {"max_iterations": options["max_iterations"], "output_schema": self._schema(options["output_schema"])}
        try:
            task = services.post_message(session, user, instruction, **chosen, terminal=process.name()).task
        except Refusal as refusal:
            raise CommandError(str(refusal), returncode=USAGE) from refusal
        assert task is not None
        report: reports.Report = reports.JsonLinesReport(self._print) if jsonl else reports.TextReport(self._print)
        if trace is not None:
            report = reports.TracedReport(report, trace)
        ended = run.run(task, user, report, input if sys.stdin.isatty() else None)
        if ended.failure_code:
            raise CommandError(ended.failure_detail, returncode=1)

    def _print(self, line: str) -> None:
        try:
            self.stdout.write(line)
            self.stdout.flush()
        except OSError as error:  # the terminal or the pipe is closed
            raise BrokenPipeError from error

    def _user(self, name: str) -> Any:
        user = get_user_model().objects.filter(username=name, is_active=True).first()
        if user is None:
            raise CommandError(f"There is no user called {name!r}.", returncode=USAGE)
        return user

    def _model(self, name: str | None, user: Any) -> LogicalModel | None:
        if not name:
            return None
        models = LogicalModel.objects.visible_to(user.pk)
        model = models.filter(name=name).first()
        if model is None:
            names = ", ".join(models.values_list("name", flat=True))
            raise CommandError(f"There is no model called {name!r}. There are: {names}.", returncode=USAGE)
        return model

    def _schema(self, path: Path | None) -> Any:
        try:
            return json.loads(path.read_bytes()) if path else None
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.", returncode=USAGE) from error
        except (ValueError, RecursionError) as error:
            raise CommandError(f"{path} is not JSON: {error}.", returncode=USAGE) from error

    def _opened(self, path: Path | None) -> BinaryIO | None:
        try:
            return path.open("wb") if path else None
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.", returncode=USAGE) from error

    def _folder(self, path: Path | None) -> str:
        if path is None:
            return ""
        if not path.is_dir():
            raise CommandError(f"{path} is not a folder.", returncode=USAGE)
        return str(path.resolve())
