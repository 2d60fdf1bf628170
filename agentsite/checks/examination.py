"""All checks in their order. Those that read rows are left out while there are none to read."""

from collections.abc import Iterator

from agentsite.checks import (
    breakers,
    broker,
    browser,
    channel_layer,
    disk,
    hooks,
    infrastructure,
    machine,
    mcp,
    operation,
    sandbox,
    settings,
    skills,
    worker,
)
from agentsite.checks.messages import Finding
from agentsite.environment import EMBEDDED


def run_checks() -> Iterator[Finding]:
    """What the doctor looks at; it may take some seconds."""
    tables = list(_tables())
    yield from tables
    yield broker.reachable()
    yield channel_layer.round_trip()
    if all(finding.ok for finding in tables):
        yield worker.heartbeat()
        yield sandbox.works()
        yield operation.default_model()
        yield from operation.each()
        yield from breakers.unusual()
        yield from mcp.unusual()
        yield from skills.unusual()
    yield browser.installed()
    yield disk.space()
    yield machine.keys()
    yield machine.data()
    yield from hooks.loaded()
    yield from settings.safe()


def quick() -> Iterator[Finding]:
    """What the admin's first page shows: nothing that waits for another machine."""
    yield worker.heartbeat()
    if EMBEDDED:  # in a team, commands run where the workers are
        yield sandbox.works()
    yield operation.default_model()
    yield from breakers.unusual()
    yield from mcp.unusual()
    yield from skills.unusual()
    yield disk.space()
    yield from hooks.loaded()
    yield from settings.safe()


def _tables() -> Iterator[Finding]:
    reachable = infrastructure.reachable()
    yield reachable
    if reachable.ok:
        yield infrastructure.migrations()
        yield from filter(None, [infrastructure.journal()])
