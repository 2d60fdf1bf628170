"""Tests of complete tasks in each protocol, with LiteLLM's proxy in front of a real model.

The model is far too small to do anything well. Each stream must be read to its end, each reply must be a call or a
visible reminder, and each constrained reply a valid call.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from llm_app.adapters.base import Endpoint, RouteParameters
from llm_app.connection_test import LoopRunner
from llm_app.protocols import adapter_for
from llm_app.types import LLMTurnResult, Message, Prompt, ToolSpec
from tests.real.conftest import OFF
from tests.real.proxy_server import KEY
from tests.real.test_real_model import LONG, check_record
from tests.server import Server
from tests.waiting import until

pytestmark = pytest.mark.real
PROTOCOLS = ("openai_native", "openai_xml", "anthropic_native", "anthropic_xml", "json_schema")
ENDS = {"max_iterations", "no_tool_call", "tool_loop"}
ASKED = 20


@pytest.fixture(scope="module")
def peers(proxy_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Our server with a logical model for each protocol."""
    folder = tmp_path_factory.mktemp("peers")
    rows = ["providers:"]
    for name in PROTOCOLS:
        address = proxy_url if name.startswith("anthropic") else f"{proxy_url}/v1"
        rows += [f"  - {{name: {name}, protocol: {name}, base_url: '{address}', api_key: {KEY}, timeout_s: 600}}"]
    rows += ["models:"]
    for name in PROTOCOLS:
        route = f"{{provider: {name}, model: smollm2, max_tokens: {400 if name == 'json_schema' else 100}}}"
        rows += [f"  - {{name: {name}, context_window: 8192, max_output_tokens: 400, providers: [{route}]}}"]
    rows += ["limits: {max_iterations: 2, no_tool_call_retries: 1}", "tools:"]
    rows += [f"  - {{name: {name}, enabled: false}}" for name in OFF]
    (folder / "agentsite.yml").write_text("\n".join(rows))
    server = Server(folder / "var", AGENTSITE_CONFIG=str(folder / "agentsite.yml")).start()
    yield server
    server.stop()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_task_ends_and_its_record_is_complete(peers, protocol):
    began = time.monotonic()
    session = peers.call("POST", "sessions/", {"model": protocol})["id"]
    task = peers.call("POST", f"sessions/{session}/messages/", {"content": "Say hello to me."})["task"]
    ended = until(lambda: (t := peers.task(task))["state"] in ("done", "failed") and t, LONG, every=0.5)
    types = Counter(check_record(peers, session))
    said = [entry["content"] or entry["tool_call"] for entry in peers.entries(session) if entry["role"] == "assistant"]
    print(f"\n{protocol}, {time.monotonic() - began:.0f} s: {ended['failure'] or 'done'} {dict(types)} {said}")
    assert ended["state"] == "done" or ended["failure"]["code"] in ENDS
    assert ended["usage"]["input_tokens"] > 500
    assert ended["usage"]["output_tokens"] > 0
    assert types["tool_call"] + types["ai_message"] + types["no_tool_call_retry"] >= 1


def test_constrained_replies_are_always_valid_calls(proxy_url):
    valid = 0
    for number in range(ASKED):
        turn = _constrained(proxy_url, f"Please do number {number}.")
        valid += len(turn.tool_calls) == 1 and isinstance(json.loads(turn.tool_calls[0].arguments), dict)
        print(f"\n{number}: {turn.tool_calls} {turn.unreadable}", end="")
    assert valid == ASKED


def _constrained(proxy_url: str, words: str) -> LLMTurnResult:
    """Return a schema with bounded strings, so that the reply ends within the output limit."""
    quirks = {"schema_keywords": ["maxLength"]}
    adapter, parameters = adapter_for("json_schema"), RouteParameters(model="smollm2", max_tokens=200, quirks=quirks)
    message = {"type": {"enum": ["info", "result"]}, "text": {"type": "string", "maxLength": 60}}
    number = {"number": {"type": "integer"}}
    tools = [_tool("message", message), _tool("count", number)]
    prompt = Prompt(system="Answer by a call, in JSON.", tools=tools, messages=[Message(role="user", content=words)])
    parser = adapter.parser(parameters, prompt)
    endpoint = Endpoint(base_url=f"{proxy_url}/v1", api_key=KEY, silence_s=LONG, total_s=LONG)
    with LoopRunner() as run:
        for event in adapter.events(adapter.body(prompt, parameters), endpoint, run):
            list(parser.feed(event))
    return parser.result()


def _tool(name: str, properties: dict[str, object]) -> ToolSpec:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolSpec(name=name, description=f"The tool {name}.", parameters=parameters)
