"""The same call in each protocol."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from tests.llm_app.protocol_case import Case
from tests.provider import Reply, openai_call

PROTOCOLS = ("openai_native", "openai_xml", "anthropic_native", "anthropic_xml", "json_schema")


def says(protocol: str, tool: str, arguments: Mapping[str, Any]) -> Reply:
    call_id = f"call_{uuid4().hex[:8]}"
    if protocol == "openai_native":
        return openai_call(tool, arguments, call_id=call_id)
    if protocol == "json_schema":
        words = json.dumps({"tool": tool, "arguments": arguments})
    elif protocol.endswith("_xml"):
        words = f'<function_calls><invoke name="{tool}">{_parameters(arguments)}</invoke></function_calls>'
    else:
        block = {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
        begin = {"type": "content_block_start", "index": 0, "content_block": block}
        end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
        return Case(protocol=protocol, name="", events=[begin, end]).reply
    return Case(protocol=protocol, name="", says=[words]).reply


def _parameters(arguments: Mapping[str, Any]) -> str:
    written = {name: value if isinstance(value, str) else json.dumps(value) for name, value in arguments.items()}
    return "".join(f'<parameter name="{name}">{value}</parameter>' for name, value in written.items())
