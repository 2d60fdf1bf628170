"""The registration of the checks: `manage.py check`, `doctor` and the admin's first page show the same messages.

None of them runs before other commands, which an error would stop. Checks of plugins, this machine and the broker
need `--deploy`. Checks that read the database or call a provider also need `--database default`.
"""

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, Tags, register, run_checks

from agentsite.checks import infrastructure, machine, operation
from agentsite.checks.messages import Finding
from agentsite.environment import EMBEDDED

TAG = "agentsite"


@register(TAG, "hooks", deploy=True)
def check_hooks(**kwargs: Any) -> list[CheckMessage]:
    return list(operation.hooks_are_loaded())


@register(TAG, "protocols", deploy=True)
def check_protocols(**kwargs: Any) -> list[CheckMessage]:
    return list(operation.protocols_are_loaded())


@register(TAG, "tools", deploy=True)
def check_tools(**kwargs: Any) -> list[CheckMessage]:
    return list(operation.tool_plugins_are_loaded())


@register(TAG, "machine", deploy=True)
def check_machine(**kwargs: Any) -> list[CheckMessage]:
    return [
        machine.packages_are_installed(),
        machine.browser_is_installed(),
        machine.disk_has_space(),
        infrastructure.storage_works(),
        *machine.files_are_private(),
        *machine.settings_are_safe(),
    ]


@register(TAG, "broker", deploy=True)
def check_broker(**kwargs: Any) -> list[CheckMessage]:
    return [infrastructure.broker_answers(), infrastructure.channel_layer_delivers()]


@register(TAG, Tags.database, deploy=True)
def check_database(databases: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Check the database and its contents. Rows are read only if the tables exist."""
    if not databases:
        return []
    tables = list(infrastructure.database_is_ready())
    if any(message.is_serious() for message in tables):
        return tables
    return [
        *tables,
        infrastructure.worker_is_alive(),
        *operation.tasks_progress(),
        machine.sandbox_works(),
        *operation.providers_answer(),  # stores the results that _setup_messages() reports
        *_setup_messages(),
    ]


def _setup_messages() -> Iterator[CheckMessage]:
    """Yield the messages about stored settings, without calling another server."""
    yield operation.default_model_has_a_route()
    yield operation.limits_in_usd_count()
    yield from operation.breakers_are_closed()
    yield from operation.mcp_servers_are_listed()
    yield from operation.skills_are_valid()


def all_findings() -> list[Finding]:
    """Return the findings of `doctor`. This can take some seconds, as providers are called."""
    messages = run_checks(tags=[TAG], include_deployment_checks=True, databases=["default"])
    return [
        Finding.from_message(message)
        for message in sorted(messages, key=_report_position)
        if not CheckMessage.is_silenced(message)  # SILENCED_SYSTEM_CHECKS, but show Ok
    ]


def _report_position(message: CheckMessage) -> int:
    """Return the position in the report, the tens of the message's number: Django runs checks in no fixed order."""
    return int((message.id or "0")[-3:]) // 10


def quick_findings() -> list[Finding]:
    """Return the findings of the admin's first page, from checks that wait for no other machine."""
    messages = [
        infrastructure.worker_is_alive(),
        *operation.tasks_progress(),
        *([machine.sandbox_works()] if EMBEDDED else []),  # in a team, commands run where the workers are
        *operation.providers_answered(),
        *_setup_messages(),
        machine.disk_has_space(),
        *operation.protocols_are_loaded(),
        *operation.hooks_are_loaded(),
        *operation.tool_plugins_are_loaded(),
        *machine.settings_are_safe(),
    ]
    return [Finding.from_message(message) for message in messages]
