"""The events of a task: stable ids, redacted, and none for copies in forks."""

import json

import pytest

from llm_app.call import retry
from llm_app.models import Secret
from tasks_app.models import Agent, Session, TraceSink
from tasks_app.services import forks
from tests.provider import Reply, openai_result
from tests.tasks_app.engine.conftest import call, result
from tests.tasks_app.engine.test_delegation import children_of, part, work_off

PLAN = [{"title": "Look", "status": "in_progress"}]


def events(sink):
    return [json.loads(line) for line in sink.path.read_text().splitlines()]


def types(sink):
    return [event["type"] for event in events(sink)]


def test_events_of_a_whole_task(play, sink, deliver):
    file = sink("file")
    run = play(call("plan", action="update", steps=PLAN), call("file", action="list", path="."), result("All is well."))
    run.advance()
    deliver(file)
    assert types(file) == [
        "task_started",
        *("metadata", "tool_call", "tool_result", "plan"),
        *("metadata", "tool_call", "tool_result"),
        *("metadata", "tool_call", "tool_result", "final_answer", "task_ended"),
    ]
    by_type = {event["type"]: event for event in events(file)}
    assert by_type["plan"]["data"]["added"] == ["Look"]
    assert by_type["final_answer"]["data"]["text"] == "All is well."
    ended = by_type["task_ended"]
    assert (ended["data"]["state"], ended["data"]["iterations"], ended["task"]) == ("done", 3, str(run.task.pk))
    assert ended["id"] == f"{run.task.session_id}-{ended['seq']}-task_ended"
    assert by_type["task_started"]["data"]["person"] == "olga"
    assert by_type["metadata"]["data"]["output_tokens"] >= 0
    assert (file.lag, file.delivered, file.failures) == (0, 13, 0)


def test_reply_without_a_call_is_a_failed_attempt(play, sink, deliver):
    file = sink("file")
    play("I think it is done.", result()).advance()
    deliver(file)
    assert types(file)[:4] == ["task_started", "metadata", "attempt_failed", "metadata"]
    answered, failed = events(file)[1:3]
    assert failed["data"] == {
        "llm_call": answered["data"]["llm_call"],
        "error_type": "missing_tool_call",
        "text": "I think it is done.",
    }


@pytest.mark.parametrize(
    ("replies", "ends"), [([Reply(status=500), openai_result("Hello.")], 1), ([Reply(status=500)], 3)]
)
def test_each_failed_attempt_is_reported_once(replies, ends, ask_http, http_provider, sink, deliver, monkeypatch):
    monkeypatch.setattr(retry, "_wait", lambda delay, jitter: retry.RetryDecision(retry.Action.RETRY, 0.0))
    file = sink("file")
    http_provider.replies = replies
    ask_http().advance()
    deliver(file)
    failed = [event for event in events(file) if event["type"] == "attempt_failed"]
    assert [event["data"]["attempt"] for event in failed] == list(range(1, ends + 1))
    assert {event["data"]["error_type"] for event in failed} == {"ServerError"}
    assert len({event["id"] for event in events(file)}) == len(events(file))


def test_failed_task_has_its_reason(play, sink, deliver):
    file = sink("file")
    play(call("file", action="list", path="."), max_iterations=1).advance()
    deliver(file)
    ended = events(file)[-1]
    assert (ended["type"], ended["data"]["state"], ended["data"]["code"]) == ("task_ended", "failed", "max_iterations")


def test_delegated_task_names_its_parent_and_children(play, sink, deliver):
    file = sink("file")
    run = play(call("delegate", tasks=[part(result("First."))]), result())
    work_off(run)
    deliver(file)
    found = events(file)
    [child] = children_of(run.task)
    started = {event["task"]: event["data"] for event in found if event["type"] == "task_started"}
    assert started[str(run.task.pk)]["parent"] is None
    [delegated] = [event["data"] for event in found if event["type"] == "delegate"]
    assert started[str(child.pk)]["parent"] == str(run.task.pk)
    assert started[str(child.pk)]["parent_call"] == delegated["call"]
    [told] = [event["data"] for event in found if event["data"].get("name") == "delegate" and "status" in event["data"]]
    assert told["children"] == [str(child.pk)]


def test_result_has_the_remarks_of_checks_and_hooks(play, sink, deliver, owner):
    file = sink("file")
    agent = Agent.objects.create(name="careful", hooks=["self_verification"])
    run = play(call("file", action="list", path="."), result(), result())
    Session.objects.update(agent=agent)
    run.advance()
    deliver(file)
    first, refused, last = [event["data"] for event in events(file) if event["type"] == "tool_result"]
    assert [(check["by"], check["said"]) for check in first["checks"]] == [
        ("arguments", "passed"),
        ("policy", "passed"),
    ]
    assert refused["checks"][-1]["by"] == "hook self-verification"
    assert refused["checks"][-1]["said"].startswith("refused: before you finish")
    assert all(check["ms"] >= 0 for check in last["checks"])
    assert types(file).count("task_ended") == 1


def test_events_are_redacted_with_current_secrets(play, sink, deliver, owner):
    file = sink("file")
    play(call("message", type="info", text="The word is xylophone-7."), result("It was xylophone-7.")).advance()
    Secret.objects.create(owner=owner, name="WORD", value="xylophone-7")
    deliver(file)
    assert "xylophone" not in file.path.read_text()
    assert "[secret:WORD]" in file.path.read_text()


def test_new_sink_gets_later_events_only(play, sink, deliver):
    play(result()).advance()
    file = sink("file")
    deliver(file)
    assert not file.path.exists()


def test_copied_entries_of_a_fork_have_no_events(play, sink, deliver, owner):
    run = play(result("One."))
    run.advance()
    file = sink("file")
    forks.fork(run.task.session, run.entries[-1].seq, owner)
    assert TraceSink.objects.with_lag().get().lag > 0
    assert deliver(file).lag == 0
    assert not file.path.exists()


def test_only_selected_events_are_sent(play, sink, deliver):
    file = sink("file", events=["final_answer"])
    play(call("file", action="list", path="."), result("x")).advance()
    deliver(file)
    assert types(file) == ["final_answer"]
