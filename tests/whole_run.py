"""The organization of a complete run: distribution of tests to workers, and a summary of tests that could
not run here.
"""

import gc
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from django.db import connection
from xdist.scheduler import LoadScopeScheduling

from tests.waiting import slowness_at_start

# They share servers and browsers that start slowly: all tests of a folder go to one worker.
SHARING = ("tests/team/", "tests/e2e/", "tests/acceptance/")
# They start first, in this order. A team occupies one worker all the time; at the end the other two have a folder each.
LONG = (
    "tests/team/",
    "tests/tools_app/sandbox/",
    "tests/contracts/",
    "tests/faults/",
    "tests/recorded/",
    "tests/tasks_app/engine/",
    "tests/e2e/",
    "tests/acceptance/",
)
_OF_A_TEAM = tuple(f"tests/faults/test_{name}.py" for name in ("browser", "database", "kill_team", "redis", "soak"))
NEEDS = {
    "PostgreSQL": ("tests/team/", *_OF_A_TEAM),
    "Redis": ("tests/team/", *_OF_A_TEAM, "tests/agentsite/test_compose.py"),
    "Chromium": (
        "tests/e2e/",
        "tests/faults/test_browser.py",
        "tests/tools_app/test_browser_tool.py",
        "tests/tasks_app/engine/test_browser.py",
    ),
    "bubblewrap": ("tests/tools_app/sandbox/",),
    "nginx": ("tests/acceptance/test_reverse_proxy.py",),
}


class ByFileOrFolder(LoadScopeScheduling):
    """A scheduler that gives all tests of a file to one worker, so that they share fixtures."""

    def _split_scope(self, nodeid: str) -> str:
        return next((folder for folder in SHARING if nodeid.startswith(folder)), nodeid.partition("::")[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    config.option.loadscopereorder = False
    return ByFileOrFolder(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return more workers than cores, as tests of servers mostly wait, above all if these were requested."""
    are_slow = any(argument.startswith(SHARING) for argument in config.args)
    return len(os.sched_getaffinity(0)) + (2 if are_slow else 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start slow tests with servers and browsers first, so that all workers share the quick ones at the end."""
    items.sort(key=lambda item: next((n for n, folder in enumerate(LONG) if item.nodeid.startswith(folder)), len(LONG)))


def pytest_collection_finish() -> None:
    """Collect garbage less often: it took 5 to 10 % of a run.

    The objects of thousands of tests live to the end, so collections need not look at them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_configure(config: pytest.Config) -> None:
    slowness_at_start()  # before there are workers, which would be part of the measurement


def pytest_sessionstart(session: pytest.Session) -> None:
    if reporter := session.config.pluginmanager.get_plugin("terminalreporter"):
        reporter.write_line(f"Bounds on time are multiplied by {slowness_at_start()}: so busy is this machine.")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    ran = [report for name in ("passed", "failed") for report in terminalreporter.stats.get(name, ())]
    skipped = terminalreporter.stats.get("skipped", ())
    terminalreporter.write_line(_where(_in(ran, NEEDS["PostgreSQL"]), len(ran)))
    for need, places in NEEDS.items():
        if said := _told(_in(ran, places), _in(skipped, places)):
            terminalreporter.write_line(f"{need}: {said}")
    for report in ran:
        for name, value in report.user_properties:
            if name == "closing line":
                terminalreporter.write_line(value)
    if left_out := os.environ.get("AGENTSITE_TESTS_LEFT_OUT"):
        terminalreporter.write_line(f"Not run here, as they are slow by nature: {left_out}.")


def _where(of_team: list[Any], count: int) -> str:
    """Return the database and the broker of the tests."""
    team = f"{len(of_team)} of them a team's on PostgreSQL and Redis" if of_team else "none on PostgreSQL and Redis"
    return f"{count} tests ran on {connection.vendor} and the embedded broker, {team}."


def _in(reports: Iterable[Any], places: tuple[str, ...]) -> list[Any]:
    return [report for report in reports if report.nodeid.startswith(places)]


def _told(ran: list[Any], skipped: list[Any]) -> str:
    """Return the numbers of run and skipped tests with reasons, or nothing if there were none."""
    said = [f"{len({report.nodeid for report in ran})} tests ran"] if ran or skipped else []
    why = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    return ", ".join([*said, *(f"{count} skipped ({reason})" for reason, count in why.items())])
