"""Complete tasks against the strict fakes of OpenAI-compatible providers with their own rules: nothing is rejected."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contracts import whole_tasks
from tests.contracts.contract import Contract
from tests.contracts.gemini import GEMINI
from tests.contracts.thinkers import DEEPSEEK, KIMI

PEERS = [(contract, protocol) for contract in (GEMINI, DEEPSEEK, KIMI) for protocol in contract.protocols]


@pytest.mark.parametrize("task", whole_tasks.ALL, ids=lambda task: task.__name__)
@pytest.mark.parametrize(("contract", "protocol"), PEERS, ids=lambda value: getattr(value, "name", value))
def test_complete_tasks_are_never_rejected(
    world: Callable[..., Any], contract: Contract, protocol: str, task: whole_tasks.WholeTask
) -> None:
    made = world((contract, protocol))
    task(made)
    made.check()
