"""Complete tasks against the strict fakes of local servers: nothing is rejected."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.contracts import llama_cpp, whole_tasks
from tests.contracts.contract import Contract
from tests.contracts.llama_cpp import LLAMA_CPP
from tests.contracts.ollama import OLLAMA
from tests.contracts.vllm import VLLM

ALTERNATING = replace(
    LLAMA_CPP,
    name="llama_cpp_mistral",
    rules=(*LLAMA_CPP.rules, llama_cpp.alternating_roles),
    quirks={"merge_user_messages": True},
)
PEERS = [(contract, protocol) for contract in (LLAMA_CPP, VLLM, OLLAMA) for protocol in contract.protocols]
PEERS += [(ALTERNATING, "openai_native"), (ALTERNATING, "json_schema")]


@pytest.mark.parametrize("task", whole_tasks.ALL, ids=lambda task: task.__name__)
@pytest.mark.parametrize(("contract", "protocol"), PEERS, ids=lambda value: getattr(value, "name", value))
def test_complete_tasks_are_never_rejected(
    world: Callable[..., Any], contract: Contract, protocol: str, task: whole_tasks.WholeTask
) -> None:
    made = world((contract, protocol))
    task(made)
    made.check()
