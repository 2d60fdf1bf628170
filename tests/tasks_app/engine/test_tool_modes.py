"""Protocols without a field for tools: the same loop, the same record, and reasons for unreadable calls."""

import json

import pytest

from llm_app.models import Blob, LLMLog
from tasks_app import services
from tasks_app.runtime import event_loop, stream_buffer
from tests import factories
from tests.llm_app.protocol_case import Case
from tests.provider import Reply, openai_text
from tests.tasks_app.engine.conftest import Run
from tests.waiting import until

MODES = ("anthropic_xml", "openai_xml", "json_schema")


def xml(name: str, **arguments: str) -> str:
    lines = "".join(f'<parameter name="{key}">{value}</parameter>\n' for key, value in arguments.items())
    return f'<function_calls>\n<invoke name="{name}">\n{lines}</invoke>\n</function_calls>'


def written(protocol: str, name: str, **arguments: str) -> str:
    return xml(name, **arguments) if protocol.endswith("_xml") else json.dumps({"tool": name, "arguments": arguments})


def says(protocol: str, text: str) -> Reply:
    size = max(1, len(text) // 5)
    return Case(protocol=protocol, name="", says=[text[at : at + size] for at in range(0, len(text), size)]).reply


def result(protocol: str, text: str = "Done.") -> Reply:
    return says(protocol, written(protocol, "message", type="result", text=text))


@pytest.fixture
def ask(owner, http_provider):
    """Start a task whose model speaks the given protocol."""

    def start(protocol: str) -> Run:
        row = factories.ProviderFactory(protocol=protocol, base_url=http_provider.base_url, timeout_s=5)
        route = factories.RouteFactory(provider=row, provider_model="fake-1")
        session = factories.SessionFactory(owner=owner, model=route.model)
        return Run(services.post_message(session, owner, "Go.").task)

    return start


@pytest.mark.parametrize("protocol", MODES)
def test_a_task_runs_and_its_prompt_describes_the_tools(ask, http_provider, protocol):
    write = written(protocol, "file", action="write", path="a.txt", content="1 < 2\n")
    read = written(protocol, "file", action="read", path="a.txt", limit="1")
    http_provider.replies = [says(protocol, write), says(protocol, read), result(protocol)]
    run = ask(protocol)
    assert run.advance().final_result["text"] == "Done."
    assert [status for status, _ in run.results()][:2] == ["succeeded", "succeeded"]
    assert "1 < 2" in run.results()[1][1]
    assert [entry.metadata["origin"] for entry in run.entries if entry.call] == [
        protocol.split("_")[-1].replace("schema", "json")
    ] * 3
    first, _, last = (received.body for received in http_provider.received)
    assert "tools" not in first
    assert '"name":"shell"' in json.dumps(first, separators=(",", ":")).replace('\\"', '"')
    assert "<tool_result>" in json.dumps(last["messages"])


@pytest.mark.parametrize("protocol", MODES)
def test_the_record_holds_the_models_input(ask, http_provider, protocol):
    http_provider.replies = [result(protocol)]
    ask(protocol).advance()
    stored = Blob.objects.get(pk=LLMLog.objects.get().system_blob).content
    sent = http_provider.received[0].body
    parts = sent["system"] if "system" in sent else [{"text": sent["messages"][0]["content"]}]
    assert stored.replace("\u2063\u200b\u2063", "").strip() == "".join(part["text"] for part in parts).strip()
    assert "Example of a whole reply" in stored


@pytest.mark.parametrize("protocol", MODES)
def test_a_truncated_call_never_runs_and_is_explained(ask, http_provider, protocol):
    cut = written(protocol, "file", action="write", path="a.txt", content="x")[:-8]
    http_provider.replies = [says(protocol, cut), result(protocol)]
    run = ask(protocol)
    assert run.advance().state == "done"
    assert run.types[2:4] == ["no_tool_call_retry", "system_reminder"]
    assert run.entries[2].content == cut
    assert "not complete" in run.entries[3].content
    assert "tool_call" not in run.types


WRITE = xml("file", action="write", path="a.txt", content="x")


@pytest.mark.parametrize("protocol", ["anthropic_xml", "openai_xml"])
def test_text_before_an_xml_call_is_recorded(ask, http_provider, protocol):
    http_provider.replies = [says(protocol, f"I write it.\n\n{WRITE}"), result(protocol)]
    run = ask(protocol)
    assert run.advance().state == "done"
    assert run.types[2:4] == ["tool_call", "tool_result"]
    assert run.entries[2].content == "I write it."
    said = http_provider.received[1].body["messages"][-2]["content"]
    assert (said if isinstance(said, str) else said[0]["text"]) == f"I write it.\n{WRITE}"


@pytest.mark.parametrize("protocol", ["anthropic_xml", "openai_xml"])
@pytest.mark.parametrize("written", [f"I write it. {WRITE}", f"So:\n```\n{WRITE}\n```", f"{WRITE}\nWritten."])
def test_an_xml_call_elsewhere_never_runs_and_is_explained(ask, http_provider, protocol, written):
    http_provider.replies = [says(protocol, written), result(protocol)]
    run = ask(protocol)
    assert run.advance().state == "done"
    assert run.types[2:4] == ["no_tool_call_retry", "system_reminder"]
    assert run.entries[2].content == written
    assert "could not be read, so nothing was run" in run.entries[3].content


@pytest.mark.parametrize("protocol", MODES)
def test_the_text_of_a_message_streams(ask, http_provider, owner, protocol):
    whole = "The first half. The second half."
    reply = result(protocol, whole)
    lines = reply.chunks[0].split(b"\n\n")
    reply.chunks, reply.stall_at = [line + b"\n\n" for line in lines], len(lines) - 5
    http_provider.replies = [reply, result(protocol)]
    run = ask(protocol)
    thread = run.in_thread()
    until(lambda: event_loop.submit(stream_buffer.store.chunks_of(run.task.pk)).result(10))
    services.post_message(run.task.session, owner, "Stop, please.")
    thread.join(30)
    partial = run.entries[2]
    assert partial.metadata["status"] == "interrupted"
    assert partial.content
    assert whole.startswith(partial.content)


def test_a_call_in_the_text_of_a_native_reply_runs(ask_http, http_provider):
    call = {"name": "message", "arguments": {"type": "result", "text": "Done."}}
    http_provider.replies = [openai_text(f"<tool_call>{json.dumps(call)}</tool_call>")]
    run = ask_http()
    assert run.advance().final_result["text"] == "Done."
    answer = next(entry for entry in run.entries if entry.call)
    assert (answer.metadata["origin"], answer.content) == ("text", "")
