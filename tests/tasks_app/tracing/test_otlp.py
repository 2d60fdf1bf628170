"""OpenTelemetry traces of tasks: a span for the task, each LLM call and each tool call."""

import json

import pytest

from llm_app.models import ServiceKey
from tasks_app import services
from tests.tasks_app.engine.conftest import call, result
from tests.tasks_app.engine.test_delegation import part, work_off
from tests.tasks_app.tracing.receiver import attributes, said


def spans(collector):
    return {span["name"]: span for span in collector.spans.values()}


def test_task_is_a_trace_by_the_conventions(play, sink, deliver, collector):
    main = sink("otlp")
    run = play(call("file", action="list", path="."), result("A word."))
    run.advance()
    deliver(main)
    assert (main.failures, main.last_error) == (0, "")
    found = spans(collector)
    root, tool, chat = found["invoke_agent"], found["execute_tool file"], found["chat script"]
    assert len(collector.spans) == 4
    assert {span["traceId"] for span in collector.spans.values()} == {run.task.pk.hex}
    assert "parentSpanId" not in root
    assert tool["parentSpanId"] == chat["parentSpanId"] == root["spanId"]
    assert attributes(root)["gen_ai.operation.name"] == "invoke_agent"
    assert attributes(root)["gen_ai.conversation.id"] == str(run.task.session_id)
    assert attributes(chat)["gen_ai.request.model"] == "script"
    assert attributes(chat)["gen_ai.usage.input_tokens"] > 0
    assert attributes(tool)["gen_ai.tool.name"] == "file"
    assert "A word." not in str(collector.requests)
    assert "gen_ai.tool.call.arguments" not in attributes(tool)


def test_finished_spans_are_sent_during_the_task(play, sink, deliver, collector, owner):
    main = sink("otlp")
    ask = call("message", type="ask", text="Go on?")
    run = play("No call.", call("file", action="list", path="."), ask, result())
    run.advance()
    deliver(main)
    names = [span["name"] for span in collector.spans.values()]
    assert sorted(names) == ["chat script", "chat script", "chat script", "execute_tool file"]
    failed = [attributes(span).get("error.type") for span in collector.spans.values() if "status" in span]
    assert failed == ["missing_tool_call"]
    services.reply(run.task, owner, "yes")
    run.advance()
    deliver(main)
    [root] = [span for span in collector.spans.values() if span["name"] == "invoke_agent"]
    assert {span.get("parentSpanId", "") for span in collector.spans.values()} == {"", root["spanId"]}
    sent = [span for one in collector.requests for span in one.body["resourceSpans"][0]["scopeSpans"][0]["spans"]]
    assert len(sent) == len(collector.spans) == 6, "each once"


def test_delegated_tasks_share_the_root_trace(play, sink, deliver, collector):
    main = sink("otlp")
    run = play(call("delegate", tasks=[part(result("First.")), part(result("Second."))]), result())
    work_off(run)
    deliver(main)
    assert {span["traceId"] for span in collector.spans.values()} == {run.task.pk.hex}
    [delegating] = [span for span in collector.spans.values() if span["name"] == "execute_tool delegate"]
    agents = [span for span in collector.spans.values() if span["name"] == "invoke_agent"]
    assert [span.get("parentSpanId") for span in agents].count(delegating["spanId"]) == 2


def test_repeated_export_has_the_same_spans(play, sink, deliver, collector):
    main = sink("otlp")
    play(result()).advance()
    deliver(main)
    once = dict(collector.spans)
    main.cursor = 0
    main.save()
    deliver(main)
    assert len(collector.requests) == 2
    assert collector.spans == once


def test_contents_are_sent_if_enabled(play, sink, deliver, collector):
    main = sink("otlp", content=True)
    play(call("file", action="write", path="a.txt", content="x"), result()).advance()
    deliver(main)
    about = attributes(spans(collector)["execute_tool file"])
    assert '"path": "a.txt"' in about["gen_ai.tool.call.arguments"]
    assert about["gen_ai.tool.call.result"]


def test_failed_task_is_an_error(play, sink, deliver, collector):
    main = sink("otlp")
    play(call("file", action="read", path="nowhere"), max_iterations=1).advance()
    deliver(main)
    found = spans(collector)
    assert found["invoke_agent"]["status"] == {"code": 2, "message": "max_iterations"}
    assert attributes(found["invoke_agent"])["error.type"] == "max_iterations"
    assert attributes(found["execute_tool file"])["error.type"] == "failed"


def test_rejected_request_is_reported_and_not_sent_again(play, sink, deliver, collector):
    main = sink("otlp")
    collector.answer = said(400, '{"message": "no such thing"}')
    play(result()).advance()
    deliver(main)
    assert (main.failures, main.lag) == (0, 0)
    assert "no such thing" in main.last_error
    collector.answer = said(200, '{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too old"}}')
    play_again = main.cursor
    main.cursor = 0
    main.save()
    deliver(main)
    assert main.cursor == play_again
    assert main.last_error == "2 spans were refused: too old"


def test_busy_collector_is_retried(play, sink, deliver, collector):
    main = sink("otlp")
    collector.answer = said(503)
    play(result()).advance()
    assert deliver(main).failures == 1
    collector.answer = None
    assert deliver(main).lag == 0
    assert collector.spans


@pytest.mark.parametrize(
    "words", ['{"partialSuccess": [1]}', '{"partialSuccess": {"rejectedSpans": "many"}}', "[]", "x"]
)
def test_unreadable_answer_is_ignored(words, play, sink, deliver, collector):
    main = sink("otlp")
    collector.answer = said(200, words)
    play(result()).advance()
    deliver(main)
    assert (main.failures, main.lag) == (0, 0)


@pytest.mark.parametrize("status", [200, 400])
def test_key_repeated_by_a_collector_is_redacted(status, play, sink, deliver, collector):
    main = sink("otlp")
    ServiceKey.store(main.key_name, "Bearer s3cr3t-value-9")
    echo = {"rejectedSpans": "1", "errorMessage": "Authorization: Bearer s3cr3t-value-9"}
    collector.answer = said(status, json.dumps({"partialSuccess": echo}))
    play(result()).advance()
    deliver(main)
    assert "Authorization: " in main.last_error
    assert "s3cr3t-value-9" not in main.last_error
