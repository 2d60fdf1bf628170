"""Checks the installation and says how to fix what is wrong. The exit status is 1 if something is broken."""

import json
import sys
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from agentsite.checks.messages import Finding, Status
from agentsite.checks.registry import all_findings


class Command(BaseCommand):
    help = __doc__
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="One JSON object, for programs.")

    def handle(self, *args: Any, **options: Any) -> None:
        findings = all_findings()
        if options["json"]:
            report = {"ok": _all_ok(findings), "checks": [finding.as_json() for finding in findings]}
            self.stdout.write(json.dumps(report, indent=2))
        else:
            styles = {Status.OK: self.style.SUCCESS, Status.NOTE: self.style.WARNING, Status.BROKEN: self.style.ERROR}
            for finding in findings:
                status = styles[finding.status](f"{finding.status:8}")
                self.stdout.write(f"{status}{finding.name}: {finding.sentence}")
                if finding.hint:
                    self.stdout.write(f"{'':8}→ {finding.hint}")
        if not _all_ok(findings):
            sys.exit(1)


def _all_ok(findings: Iterable[Finding]) -> bool:
    return all(finding.status is not Status.BROKEN for finding in findings)
