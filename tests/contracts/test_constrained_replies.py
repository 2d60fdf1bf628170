"""A model that understands nothing: constrained by the sent schema, each of its replies is a call."""

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from llm_app.models import LLMLog
from tests.contracts.contract import Contract
from tests.contracts.grammars import constrained_reply
from tests.contracts.llama_cpp import LLAMA_CPP
from tests.contracts.ollama import OLLAMA
from tests.contracts.openai_stream import chat_answer
from tests.contracts.said import Said
from tests.contracts.vllm import VLLM
from tests.provider import Reply
from tools_app.contract import registry
from tools_app.models import ToolSetting

USED = ("file", "message", "plan", "match", "memory")  # calls of such a reply are harmless and fast
REPLIES = 12


def small_model(contract: Contract, seed: int) -> Contract:
    """Finish by chance after some replies that only fit the schema."""
    chance = Random(seed)
    given: list[Any] = []

    def answer(said: Said, body: Any) -> Reply:
        schema = body["response_format"]["json_schema"]["schema"]
        value = constrained_reply(schema, chance)
        while value["tool"] == "message":  # a result would end the task, a question would wait
            value = constrained_reply(schema, chance)
        if len(given) >= REPLIES:
            value = {"tool": "message", "arguments": {"type": "result", "text": "Done."}}
        given.append(value)
        return chat_answer(Said(words=json.dumps(value)), body)

    return replace(contract, answer=answer, model="SmolLM2-135M-Instruct")


@pytest.mark.parametrize("contract", [LLAMA_CPP, VLLM, OLLAMA], ids=lambda contract: contract.name)
def test_every_reply_is_a_call_and_no_request_is_rejected(world: Callable[..., Any], contract: Contract) -> None:
    unused = [tool.name for tool in registry.all_tools() if tool.name not in USED]
    ToolSetting.objects.bulk_create(ToolSetting(name=name, enabled=False, approval="never") for name in unused)
    ToolSetting.objects.bulk_create(ToolSetting(name=name, approval="never") for name in USED)
    made = world((small_model(contract, seed=7), "json_schema"))
    made.model.context_window, made.model.max_output_tokens = 8_000, 1_000
    made.model.save()
    made.providers[0].script = [Said()] * (REPLIES + 1)
    run = made.post("Write a story.", max_iterations=REPLIES + 5)
    assert run.advance().final_result["text"] == "Done."
    made.check()
    assert "no_tool_call_retry" not in run.types
    assert LLMLog.objects.filter(status="succeeded").count() == REPLIES + 1
