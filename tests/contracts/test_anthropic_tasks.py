"""Complete tasks against the strict fakes of Anthropic: nothing is rejected."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contracts import whole_tasks
from tests.contracts.anthropic import OPUS_5_5, SONNET_4_5
from tests.contracts.contract import Contract
from tests.contracts.openai_chat import GPT_5

PEERS = [(contract, protocol) for contract in (SONNET_4_5, OPUS_5_5) for protocol in contract.protocols]


@pytest.mark.parametrize("task", whole_tasks.ALL, ids=lambda task: task.__name__)
@pytest.mark.parametrize("budget", [None, 2000], ids=["plain", "thinking"])
@pytest.mark.parametrize(("contract", "protocol"), PEERS, ids=lambda value: getattr(value, "name", value))
def test_complete_tasks_are_never_rejected(
    world: Callable[..., Any], contract: Contract, protocol: str, budget: int | None, task: whole_tasks.WholeTask
) -> None:
    made = world((contract, protocol), thinking_budget=budget)
    task(made)
    made.check()


OPENAI = (GPT_5, "openai_native")


@pytest.mark.parametrize("contract", [SONNET_4_5, OPUS_5_5], ids=lambda contract: contract.name)
@pytest.mark.parametrize("is_first", [True, False], ids=["anthropic first", "openai first"])
def test_anthropic_with_thinking_and_openai_continue_each_others_history(
    world: Callable[..., Any], is_first: bool, contract: Contract
) -> None:
    """Test with thinking, pictures, deferred calls and an id that is longer than OpenAI's."""
    peers = [(contract, "anthropic_native"), OPENAI]
    made = world(*(peers if is_first else reversed(peers)), thinking_budget=2000)
    whole_tasks.failover(made)
    made.check()
