"""Complete tasks against the strict fakes of OpenAI and compatible providers: nothing is rejected."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contracts import whole_tasks
from tests.contracts.contract import Contract
from tests.contracts.openai_chat import GPT_4, GPT_5, GPT_NEWEST, O_SERIES
from tests.contracts.openai_responses import RESPONSES, RESPONSES_GPT_4

MODELS = (GPT_5, GPT_NEWEST, GPT_4, O_SERIES, RESPONSES, RESPONSES_GPT_4)
PEERS = [(contract, protocol) for contract in MODELS for protocol in contract.protocols]


@pytest.mark.parametrize("task", whole_tasks.ALL, ids=lambda task: task.__name__)
@pytest.mark.parametrize(("contract", "protocol"), PEERS, ids=lambda value: getattr(value, "name", value))
def test_complete_tasks_are_never_rejected(
    world: Callable[..., Any], contract: Contract, protocol: str, task: whole_tasks.WholeTask
) -> None:
    made = world((contract, protocol))
    task(made)
    made.check()
