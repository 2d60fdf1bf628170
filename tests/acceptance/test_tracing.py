"""A server that is killed while its trace sink is away, and loses no event."""

import yaml

from tests.provider import running
from tests.server import configured
from tests.tasks_app.engine.conftest import call, result, script
from tests.tasks_app.tracing.receiver import KEY, Collector, Endpoint
from tests.waiting import until


def configuration(address, collector):
    return yaml.safe_dump(
        {
            "providers": [{"name": "demo", "protocol": "scripted"}],
            "models": [{"name": "default", "providers": [{"provider": "demo", "model": "script", "priority": 1}]}],
            "network": {
                "allow_internal": [url.removeprefix("http://").partition("/")[0] for url in (address, collector)]
            },
            "tracing": [
                {"name": "hook", "kind": "http", "url": f"{address}/events", "key": KEY},
                {"name": "spans", "kind": "otlp", "url": f"{collector}/traces"},
                {"name": "lines", "kind": "file"},
            ],
        }
    )


def test_all_events_arrive_after_the_server_was_killed(tmp_path):
    endpoint, collector = Endpoint(), Collector()
    with running() as receiver, running() as otlp:
        receiver.replies, otlp.replies = [endpoint], [collector]
        endpoint.status = 503
        server = configured(tmp_path, configuration(receiver.base_url, otlp.base_url)).start()
        try:
            words = script(call("file", action="list", path="."), result("All is well."))
            tasks = [start(server, words)]
            until(receiver.arrived.is_set)
            server.kill()
            endpoint.status = 200
            server.start()
            tasks.append(start(server, words))
            until(lambda: len([e for e in endpoint.events if e["type"] == "task_ended"]) >= 2)
            until(lambda: len({span["traceId"] for span in collector.spans.values()}) == 2)
            lines = server.var / "traces" / "lines.jsonl"
            until(lambda: lines.read_text().count('"type":"task_ended"') >= 2)
        finally:
            server.stop()
        for task in tasks:
            mine = {event["id"]: event["type"] for event in endpoint.events if event["task"] == task}
            assert sorted(mine.values()) == sorted(
                ["task_started", "final_answer", "task_ended", *["metadata", "tool_call", "tool_result"] * 2]
            )


def start(server, words):
    session = server.call("POST", "sessions/", {})["id"]
    task = server.call("POST", f"sessions/{session}/messages/", {"content": words})["task"]
    server.until_task(task, state="done")
    return task
